# SPDX-License-Identifier: BSD-3-Clause
"""What lets a reader of a page enlarge a part of its pictures: a script within the page, which fetches nothing."""

SAYS = "A rectangle drawn on a picture with the pointer enlarges that part; a double click shows the whole again."

# A picture keeps its place and its size on the page; only what is seen of it changes. Points are in units of the picture, of which
# it has some hundred; a rectangle of fewer than 4 is taken for a click.
SCRIPT = """
for (const picture of document.querySelectorAll("figure svg")) {
  const whole = picture.getAttribute("viewBox");
  const [, , width, height] = whole.split(" ");
  picture.style.aspectRatio = `${width} / ${height}`;
  const point = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  let start = null, frame = null;
  const rectangle = event => {
    const end = point(event);
    return [Math.min(start.x, end.x), Math.min(start.y, end.y), Math.abs(end.x - start.x), Math.abs(end.y - start.y)];
  };
  picture.addEventListener("pointerdown", event => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    event.preventDefault();
    start = point(event);
    frame = picture.appendChild(document.createElementNS(picture.namespaceURI, "rect"));
    frame.setAttribute("class", "frame");
  });
  window.addEventListener("pointermove", event => {
    if (frame) rectangle(event).forEach((value, index) => frame.setAttribute(["x", "y", "width", "height"][index], value));
  });
  window.addEventListener("pointerup", event => {
    if (!frame) return;
    const part = rectangle(event);
    frame.remove();
    frame = null;
    if (part[2] >= 4 && part[3] >= 4) picture.setAttribute("viewBox", part.join(" "));
  });
  picture.addEventListener("dblclick", () => picture.setAttribute("viewBox", whole));
}
"""

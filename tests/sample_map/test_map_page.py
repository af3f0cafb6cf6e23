"""The map in a real browser: lasso, zoom and pan by pointer, fingers and keys; a hundred thousand points."""

from collections.abc import Callable

import numpy as np
from playwright.sync_api import Page, expect

from eigenclean.arrays import Array, Bools

WIDTH, HEIGHT, MARGIN = 640, 400, 14  # of conftest.py
Show = Callable[..., Page]


def pixels(points: Array) -> Array:
    """Where the page draws these points at first."""
    size = np.array([WIDTH, HEIGHT])
    flipped = np.column_stack([points[:, 0], 1 - points[:, 1]])
    return np.asarray(MARGIN + flipped * (size - 2 * MARGIN))


def in_box(at: Array, left: float, top: float, right: float, bottom: float) -> Bools:
    x, y = at.T
    return np.asarray((x > left) & (x < right) & (y > top) & (y < bottom))


def drag(page: Page, corners: list[tuple[float, float]], *, shift: bool = False) -> None:
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    places = [(box["x"] + x, box["y"] + y) for x, y in corners]
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


def scattered(n: int = 300) -> tuple[Array, Array]:
    """Points that keep away from the borders of the boxes that the tests draw."""
    rng = np.random.default_rng(0)
    points = rng.random((4 * n, 2))
    at = pixels(points)
    clear = [np.abs(at[:, 0] - x) > 4 for x in (200, 400)] + [np.abs(at[:, 1] - y) > 4 for y in (100, 300)]
    points = points[np.all(clear, axis=0)][:n]
    return points, rng.integers(0, 3, len(points))


def test_a_lasso_selects_what_is_inside(show: Show) -> None:
    points, given = scattered()
    page = show(points, given, 40)
    inside = np.flatnonzero(in_box(pixels(points), 200, 100, 400, 300)).tolist()
    corners = [(200.0, 100.0), (400.0, 100.0), (400.0, 300.0), (200.0, 300.0)]
    drag(page, corners, shift=True)
    assert page.evaluate("chosen.at(-1)") == inside
    suspects = sum(place < 40 for place in inside)
    expect(page.get_by_role("status")).to_have_text(
        f"Selected: {len(inside)} samples, {suspects} suspects among them."
    )
    page.get_by_role("button", name="Clear the selection").click()
    assert page.evaluate("chosen.at(-1)") is None
    page.get_by_role("button", name="Lasso").click()
    drag(page, [corners[0], corners[1], corners[2]])  # a triangle, without Shift
    half = [i for i in inside if pixels(points)[i][0] - 200 > pixels(points)[i][1] - 100]
    assert set(page.evaluate("chosen.at(-1)")) ^ set(half) <= {
        i for i in inside if abs(pixels(points)[i][0] - pixels(points)[i][1] - 100) < 6
    }


def test_keys_move_zoom_and_select(show: Show) -> None:
    points, given = scattered()
    page = show(points, given, 40)
    canvas = page.get_by_role("application")
    canvas.focus()
    for key in ("+", "+", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    zoom = 1.4**2
    left, top = WIDTH / 2 * (zoom - 1) + 60, HEIGHT / 2 * (zoom - 1) + 60
    seen = pixels(points) * zoom - np.array([left, top])
    assert page.evaluate("chosen.at(-1)") == np.flatnonzero(in_box(seen, 0, 0, WIDTH, HEIGHT)).tolist()
    page.keyboard.press("Escape")
    assert page.evaluate("chosen.at(-1)") is None
    for key in ("-", "ArrowLeft", "0"):
        page.keyboard.press(key)
    expect(page.get_by_role("status")).to_have_text("In view: 300 samples, 40 suspects among them.")
    page.keyboard.press("Enter")
    assert page.evaluate("chosen.at(-1)") == list(range(300))
    label = canvas.get_attribute("aria-label") or ""
    assert label.startswith("Map of 300 samples in two dimensions, 40 suspects among them. Arrow keys")


def test_wheel_drag_and_fingers_keep_the_place_under_them(show: Show) -> None:
    points, given = scattered()
    page = show(points, given, 40, has_touch=True)
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    place = "(x, y) => map.camera.position(x, y)"
    before = page.evaluate(f"({place})(500, 120)")
    page.mouse.move(box["x"] + 500, box["y"] + 120)
    page.mouse.wheel(0, -240)
    page.wait_for_function("map.camera.zoom > 1.5")
    np.testing.assert_allclose(page.evaluate(f"({place})(500, 120)"), before, atol=1e-6)
    drag(page, [(300, 200), (340, 170)])
    np.testing.assert_allclose(page.evaluate(f"({place})(540, 90)"), before, atol=1e-6)
    zoom = page.evaluate("map.camera.zoom")
    device = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        fingers = [{"x": box["x"] + x, "y": box["y"] + y, "id": i} for i, (x, y) in enumerate(places)]
        device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    before = page.evaluate(f"({place})(300, 200)")
    touch("touchStart", (260, 200), (340, 200))
    touch("touchMove", (230, 200), (370, 200))
    touch("touchEnd")
    page.wait_for_function(f"map.camera.zoom > {1.5 * zoom}")
    np.testing.assert_allclose(page.evaluate(f"({place})(300, 200)"), before, atol=0.02)
    assert page.evaluate("chosen.length") == 0


def test_a_suspect_is_named_and_picked_and_a_class_is_seen_alone(show: Show) -> None:
    points = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0], [0.2, 0.8]])
    page = show(points, np.array([0, 1, 2, 1]), 2)
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    at = pixels(points) + np.array([box["x"], box["y"]])
    page.mouse.move(at[1][0] + 3, at[1][1] + 3)
    expect(page.locator(".map-hint")).to_have_text("point 1")
    page.mouse.click(*at[1])
    page.mouse.click(*at[2])  # not a suspect
    page.mouse.click(*at[3] + 40)  # nothing there
    assert page.evaluate("picked") == [1]

    def colour(place: Array) -> list[int]:
        read = """([x, y]) => {
          const { width, data } = map.painter.image, at = 4 * ((y + 24) * width + x + 24); // with its border
          return [...data.slice(at, at + 3)];
        }"""
        return list(page.evaluate(read, place.round().tolist()))

    whole = [colour(place) for place in pixels(points)]
    assert len({tuple(each) for each in whole}) == 4  # three classes, and a suspect is stronger than a sample
    button = page.get_by_role("button", name="class 1")
    drawn = page.evaluate("redraws")
    button.click()
    page.wait_for_function(f"redraws > {drawn}")
    alone = [colour(place) for place in pixels(points)]
    assert alone[1] == whole[1] and alone[3] == whole[3]
    assert min(alone[0]) > min(whole[0]) and min(alone[2]) > min(whole[2])
    expect(button).to_have_attribute("aria-pressed", "true")


def test_a_hundred_thousand_points_are_drawn_once_per_frame(show: Show) -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    page = show(rng.random((n, 2)), rng.integers(0, 20, n), 5000)
    page.evaluate("new Promise(requestAnimationFrame)")
    many = """async () => {
      const frame = () => new Promise(requestAnimationFrame), counts = [];
      const wheel = (i) => map.canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i % 2 ? -9 : 8 }));
      const key = (i) => map.canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "+" }));
      await frame();
      for (const event of [wheel, key, (i) => map.drawLasso([[0, 0], [i, 0], [0, i]]), (i) => map.hover([i, i])]) {
        const before = redraws;
        for (let i = 0; i < 60; i++) event(i);
        await frame();
        await frame();
        counts.push(redraws - before);
      }
      return counts;
    }"""
    assert page.evaluate(many) == [1, 1, 0, 0]
    # Drawing them ourselves is what makes this possible: a canvas takes several times as long for as many circles.
    ratio = """() => {
      const timed = (work) => { const start = performance.now(); work(); return performance.now() - start; };
      const least = (times, work) => Math.min(...Array.from({ length: times }, () => timed(work)));
      const ours = least(8, () => map.painter.paint(map.points, map.camera, 1, { ...map.palette, front: null }));
      const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const { x, y, n } = map.points;
      const circles = least(2, () => {
        for (let i = 0; i < n; i++) {
          context.beginPath();
          context.arc(300 * x[i], 150 * y[i], 1.5, 0, 7);
          context.fill();
        }
        context.getImageData(0, 0, 1, 1);
      });
      return ours / circles;
    }"""
    page.evaluate("map.showAll()")
    assert page.evaluate(ratio) < 1
    page.evaluate("map.selectLasso([[0, 0], [320, 0], [320, 400], [0, 400]])")
    chosen = page.evaluate("chosen.at(-1).length")
    assert abs(chosen - n / 2) < 3 * np.sqrt(n)

"""What all pages share: header, menu, themes, and the look at the console that keeps it fresh."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nicegui import ui

from gossamer.console.console import Console
from gossamer.console.pages.menu import PAGES, MenuPage

THEME_COOKIE: Final = "gossamer_theme"
THEMES: Final[dict[str, bool | None]] = {"auto": None, "light": False, "dark": True}
THEME_ICONS: Final = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}
REFRESH_SECONDS: Final = 1.0
# On a phone the menu is a strip that may have scrolled its current entry out of sight.
SHOW_CURRENT: Final = (
    "document.querySelector('.menu [aria-current=page]')"
    ".scrollIntoView({inline: 'center', block: 'nearest'})"
)

STYLE: Final = """
:root { --quiet: #64748b; --line: #e2e8f0; --surface: #ffffff; --ground: #f8fafc; --ink: #0f172a;
        --good: #15803d; --bad: #b91c1c; --warn: #b45309; --accent: #0f766e; }
.body--dark { --quiet: #94a3b8; --line: #1f2b3d; --surface: #111a2b; --ground: #0a101c;
        --ink: #e2e8f0; --good: #4ade80; --bad: #f87171; --warn: #fbbf24; --accent: #2dd4bf; }
body, .body--dark { background: var(--ground) !important; color: var(--ink); }
.body--dark { --q-primary: #0d9488 !important; --q-negative: #ef4444 !important; }
.q-header { background: var(--surface); color: var(--ink); border-bottom: 1px solid var(--line); }
.shell { display: flex; width: 100%; align-items: flex-start; }
.menu { flex: none; width: 13.5rem; position: sticky; top: 50px; padding: .75rem .5rem; }
.content { flex: 1 1 0; min-width: 0; padding: 1rem; max-width: 88rem; }
.content:focus { outline: none !important; }
.q-card, .panel { background: var(--surface) !important; border: 1px solid var(--line);
        border-radius: 10px; box-shadow: none !important; }
.quiet { color: var(--quiet); } .good { color: var(--good); } .bad { color: var(--bad); }
.warn { color: var(--warn); } .accent { color: var(--accent); }
.figure { font-size: 1.5rem; line-height: 1.9rem; font-weight: 600;
        font-variant-numeric: tabular-nums; }
.mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .8125rem; }
.breaks { overflow-wrap: anywhere; white-space: pre-wrap; }
.nicegui-content { padding: 0; }
.menu-link { display: flex; align-items: center; gap: .75rem; padding: .55rem .9rem;
        white-space: nowrap;
        border-radius: 8px; color: inherit !important; text-decoration: none !important; }
.menu-link:hover { background: rgba(100, 116, 139, .14); }
.menu-link[aria-current=page] { background: rgba(20, 184, 166, .16);
        color: var(--accent) !important; font-weight: 600; }
:focus-visible { outline: 2px solid var(--accent) !important; outline-offset: 2px; }
.skip { position: fixed; left: 1rem; top: -4rem; z-index: 9000; padding: .5rem 1rem;
        background: var(--surface); border-radius: 8px; }
.skip:focus { top: .5rem; }
.q-table__card { background: transparent !important; }
.q-table tbody td { font-variant-numeric: tabular-nums; }
@media (max-width: 900px) { .shell { flex-direction: column; }
        .menu { width: 100%; display: flex; gap: .25rem; overflow-x: auto; padding: .4rem .6rem;
                top: 46px; z-index: 20; background: var(--surface);
                border-bottom: 1px solid var(--line); scrollbar-width: none; }
        .menu-link { padding: .4rem .7rem; gap: .4rem; font-size: .85rem; }
        .content { width: 100%; flex: none; padding: .7rem; } }
@media (max-width: 600px) { .figure { font-size: 1.2rem; line-height: 1.5rem; } }
"""


@contextmanager
def frame(console: Console, page: MenuPage) -> Iterator[None]:
    """The page's own elements go into the `with`."""
    ui.add_css(STYLE)
    ui.colors(primary="#0f766e", accent="#0f766e", positive="#15803d", negative="#b91c1c")
    with ui.header().classes("items-center px-4 py-1 gap-3"):
        ui.link("Skip to content", "#content").classes("skip")
        _header(console, page)
    with ui.element("div").classes("shell"):
        _menu(page)
        with ui.column().classes("content gap-4").props('id=content role=main tabindex="-1"'):
            yield
    ui.run_javascript(SHOW_CURRENT)
    ui.timer(REFRESH_SECONDS, console.look)
    console.look()


def _menu(page: MenuPage) -> None:
    with ui.element("nav").props('aria-label="Pages"').classes("menu"):
        for one in PAGES:
            link = ui.link(target=one.path).classes("menu-link")
            if one.path == page.path:
                link.props("aria-current=page")
            with link:
                ui.icon(one.icon, size="1.25rem").props("aria-hidden=true")
                ui.label(one.title)


def _header(console: Console, page: MenuPage) -> None:
    ui.label(page.title).classes("text-lg font-semibold")
    ui.space()
    _health(console)
    _theme_button()
    with ui.element("form").props("method=post action=/sign-out"):
        ui.button(icon="logout").props(
            'flat dense round color=inherit type=submit aria-label="Sign out"'
        )


def _health(console: Console) -> None:
    label = ui.label().classes("text-sm font-medium").props("role=status")

    def refresh() -> None:
        up = sum(broker.is_up for broker in console.brokers)
        count = len(console.brokers)
        label.set_text(f"{up} of {count} up" if count > 1 else "up" if up else "down")
        label.classes(replace=f"text-sm font-medium {'good' if up == count else 'bad'}")

    refresh()
    ui.timer(REFRESH_SECONDS, refresh)


def _theme_button() -> None:
    request = ui.context.client.request
    chosen = request.cookies.get(THEME_COOKIE, "auto")
    state = {"theme": chosen if chosen in THEMES else "auto"}
    dark = ui.dark_mode(THEMES[state["theme"]])

    def turn() -> None:
        names = list(THEMES)
        theme = names[(names.index(state["theme"]) + 1) % len(names)]
        state["theme"] = theme
        dark.value = THEMES[theme]
        button.props(f"icon={THEME_ICONS[theme]}")
        ui.run_javascript(
            f"document.cookie = '{THEME_COOKIE}={theme}; path=/; max-age=31536000; samesite=strict'"
        )

    button = ui.button(icon=THEME_ICONS[state["theme"]], on_click=turn)
    button.props('flat dense round color=inherit aria-label="Theme: light, dark or system"')

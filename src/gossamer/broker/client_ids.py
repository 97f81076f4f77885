"""Client ids bound to users: nobody can sit on an id that is another's.

A template is an id in which `%u` is the user name, `%%` a percent sign and a last `*` anything. No
two users share an id by templates with `%u`: these have the same text before the name, and a name
with the character that follows it in one of them fits none (else `ann` could have, by `%u-*`, what
`ann-x` has by `%u`). A template without `%u` is for everybody. An id that the broker assigns is
free.
"""

from typing import Final

ANY: Final = "*"


def check_id_templates(templates: list[str]) -> None:
    """Raises ValueError unless each can be read and all together bind ids to users."""
    heads: set[str] = set()
    for template in templates:
        if not template:
            raise ValueError("an empty id means that the broker assigns one")
        if "%" in template.replace("%%", "").replace("%u", ""):
            raise ValueError(f"{template}: % must be followed by u (user name) or another %")
        if ANY in template[:-1]:
            raise ValueError(f"{template}: * is allowed at the end only")
        before, is_bound, behind = _split(template)
        if "%u" in behind:
            raise ValueError(f"{template}: %u is allowed once only")
        if behind == ANY:
            raise ValueError(f"{template}: put something between %u and *, else ann has anna's")
        if is_bound:
            heads.add(before)
    if len(heads) > 1:
        raise ValueError(
            "the text before %u must be the same in all templates, or two users could share ids"
        )


def may_have(templates: list[str], user: str, client_id: str) -> bool:
    """Whether this user may come with this id; without templates, with any."""
    if not templates:
        return True
    binds = True
    for template in templates:
        behind = _split(template)[2]
        if behind and behind[0] in user:
            binds = False
    for template in templates:
        before, is_bound, behind = _split(template)
        if is_bound and (not user or not binds):
            continue
        text = before + user + behind if is_bound else before
        if client_id.startswith(text[:-1]) if template.endswith(ANY) else client_id == text:
            return True
    return False


def _split(template: str) -> tuple[str, bool, str]:
    """What is before `%u`, whether there is one, and what is behind it; `%%` is read."""
    at = 0
    while True:
        mark = template.find("%", at)
        if mark < 0:
            return template.replace("%%", "%"), False, ""
        if template[mark + 1 : mark + 2] == "u":
            behind = template[mark + 2 :].replace("%%", "%")
            return template[:mark].replace("%%", "%"), True, behind
        at = mark + 2

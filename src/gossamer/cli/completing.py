"""Shell scripts that complete `gossamer`: tables of words, so that a key press starts no Python."""

from collections.abc import Mapping
from typing import Any

import typer

# What may follow each command line so far: "bench" → its commands, "pub" → its options.
Words = dict[str, list[str]]


def words_of(app: typer.Typer) -> Words:
    """Every command and option of the application."""
    found: Words = {}
    _collect(typer.main.get_command(app), "", found)
    return found


def _collect(command: Any, path: str, found: Words) -> None:
    below: Mapping[str, Any] = getattr(command, "commands", {})
    options = [name for each in command.params for name in each.opts if name.startswith("-")]
    found[path] = [*below, *sorted({*options, "--help"})]
    for name, child in below.items():
        _collect(child, f"{path} {name}".strip(), found)


def bash(words: Words) -> str:
    """Options and commands by the longest known beginning of the line, files for the rest."""
    cases = "\n".join(
        f'        "{path}") words="{" ".join(each)}" ;;' for path, each in words.items() if path
    )
    return f"""\
# Completes gossamer in bash: source this file, or put it into bash-completion's folder.
_gossamer() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" path="" word words
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) break ;; esac
        path="${{path:+$path }}$word"
    done
    while :; do
        words=""
        case "$path" in
{cases}
        "") words="{" ".join(words[""])}" ;;
        esac
        [ -n "$words" ] && break
        case "$path" in *" "*) path="${{path% *}}" ;; *) path="" ;; esac
    done
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ ${{#COMPREPLY[@]}} -eq 0 ] && COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _gossamer gossamer
"""


def zsh(words: Words) -> str:
    """Zsh understands bash's own words about completion."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash(words)


def fish(words: Words) -> str:
    lines = ["# Completes gossamer in fish: put it into ~/.config/fish/completions/gossamer.fish."]
    for path, each in words.items():
        condition = _fish_condition(path, words)
        for word in each:
            flag = f"-a {word}" if not word.startswith("-") else _fish_option(word)
            lines.append(f"complete -c gossamer -n '{condition}' {flag}")
    return "\n".join(lines) + "\n"


def _fish_option(word: str) -> str:
    return f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"


def _fish_condition(path: str, words: Words) -> str:
    """In this command and in none below it."""
    if not path:
        return "__fish_use_subcommand"
    seen = [f"__fish_seen_subcommand_from {name}" for name in path.split()]
    below = [name for name in words[path] if not name.startswith("-")]
    if below:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(below)}")
    return "; and ".join(seen)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}

"""Shell completion of the names of catalogued programs."""

from lockwright.commands.common.complete import name_list, one_name


def _program_names() -> list[str]:
    from lockwright_lab.study.program.catalogue import names

    return names()


program = one_name(_program_names)
programs = name_list(lambda: ["all", *_program_names()])

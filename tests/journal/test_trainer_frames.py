"""Lines of a trainer that was installed as a package, where no line is the user's own."""

from tests.diagnosis.builders import lib, main, native, py, thread
from unstall.journal.stack_frames import select_frames_called_by, select_program_frames, select_trainer_frames

SCRIPT = py("/opt/env/bin/retinanet-train", "<module>", 8)
MACHINERY = ("tensorflow/python/ops/script_ops.py",)


def test_those_of_the_outermost_package_that_is_no_framework() -> None:
    stack = main(
        native("epoll_wait"),
        lib("PIL/Image.py", "open", 2800),
        lib("a_trainer/utils/image.py", "read_image", 32),
        lib("a_trainer/generator.py", "load_image", 208),
        lib("keras/engine/training.py", "fit", 1184),
        lib("a_trainer/bin/train.py", "main", 538),
        SCRIPT,
    )
    lines = [frame["line"] for frame in select_program_frames(stack)]
    assert lines == [32, 208, 538]


def test_what_reads_the_command_line_is_no_trainer() -> None:
    stack = main(
        lib("a_trainer/train.py", "run", 227), lib("click/core.py", "invoke", 535), lib("click/core.py", "main", 697), SCRIPT
    )
    assert [frame["line"] for frame in select_program_frames(stack)] == [227]
    assert select_trainer_frames([lib("click/core.py", "invoke", 535)]) == []


def test_the_users_own_come_first() -> None:
    stack = main(lib("a_trainer/fit.py", "fit", 9), py("train.py", "<module>", 3))
    assert [frame["line"] for frame in select_program_frames(stack)] == [3]


def test_none_of_a_framework_alone_or_of_the_standard_library() -> None:
    frames = [lib("tensorflow/python/eager/execute.py", "quick_execute"), py("/usr/lib/python3.11/threading.py", "run", 1)]
    assert select_trainer_frames(frames) == []


def test_input_code_of_an_installed_trainer_is_found_below_the_machinery() -> None:
    inside = [lib("PIL/Image.py", "open", 2800), lib("a_trainer/utils/image.py", "read_image", 32)]
    outside = [lib("tensorflow/python/ops/script_ops.py", "__call__"), lib("another/thread.py", "run", 5)]
    called = select_frames_called_by(MACHINERY, thread(*inside, *outside))
    assert [frame["line"] for frame in called] == [32]


def test_frameworks_below_the_machinery_are_no_input_code() -> None:
    assert (
        select_frames_called_by(MACHINERY, thread(lib("keras/utils/data_utils.py", "get"), lib(MACHINERY[0], "__call__"))) == []
    )

# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 30
# near = "program_error"
# needs = []
# ///
"""Optional parts are found by trying: a module, an attribute, a device and a file that need not be there."""

import sys

import torch

try:
    import a_module_that_is_not_there
except ImportError:
    a_module_that_is_not_there = None

try:
    compiled = torch.an_attribute_of_a_later_version
except AttributeError:
    compiled = None

try:
    device = torch.zeros(1, device="cuda").device
except (RuntimeError, AssertionError):
    device = torch.device("cpu")

try:
    with open("settings-of-this-machine.json") as file:
        settings = file.read()
except FileNotFoundError:
    settings = "{}"

print(device, settings, compiled)
sys.exit(0)

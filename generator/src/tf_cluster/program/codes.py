"""The codes of findings on the program's code."""

from tf_cluster.findings.finding import Code

NOT_PYTHON = Code("TFC501", "a file of the program is not valid Python")
CODE_NOT_THERE = Code("TFC502", "the program's module or script is not among its code")
NO_SUCH_CLASS = Code("TFC503", "the program's module has no such class")
NO_PROGRAM = Code("TFC504", "the class is no subclass of tf_cluster_trainer.Program")
HOOK_MISSING = Code("TFC505", "the program lacks a hook that each program needs")
FLAGS_CLASS = Code("TFC506", "the program declares its flags in a form that the trainer refuses")
UNKNOWN_FLAG = Code("TFC507", "a flag that the program does not declare")
FLAG_TYPE = Code("TFC508", "a flag of another type than the program declares")
FLAG_CHOICE = Code("TFC509", "a flag that is none of the choices that the program declares")
FLAG_MISSING = Code("TFC510", "a flag without a default is not given")
UNKNOWN_METRIC = Code("TFC511", "a metric that the program's evaluate does not give")
UNKNOWN_OPTION = Code("TFC512", "an argument that the script does not know")
OPTION_VALUE = Code("TFC513", "a value that an option of the script refuses")
OPTION_MISSING = Code("TFC514", "an option or argument that the script requires is not given")
NOT_IN_IMAGE = Code("TFC515", "an import that the trainer's image does not have (warning)")

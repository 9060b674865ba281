# Fails the build when a function of ours is declared but nowhere defined, such as a row's missing kernel: a Python module
# links without it and would only say so, with a mangled name, when it is imported.
execute_process(COMMAND ${NM} -uC ${MODULE} OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " U [^\n]*msa::[^\n]*" missing "${undefined}")
if(missing)
  list(JOIN missing "\n " lines)
  message(FATAL_ERROR "declared but not defined:\n ${lines}")
endif()

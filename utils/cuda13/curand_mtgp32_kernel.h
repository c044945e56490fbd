/* clang includes it from the toolkit; PyPI's has it only with cuRAND. */

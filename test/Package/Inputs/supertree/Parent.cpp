// A library of the parent's.

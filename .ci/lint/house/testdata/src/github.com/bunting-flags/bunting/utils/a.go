package utils // want `the table names no such room` `the package exports 1 identifiers, want at most 0: make internal what no user needs`

func Exported() {}

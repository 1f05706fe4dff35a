package bench

import _ "os"

func Exported() {}

package capture // want `1 of 2 arrows between files lead backwards, 50 %, want at most 10 %: b.go -> a.go`

import (
	_ "fmt"
	_ "os" // want `import of "os": this room does no I/O`
)

type T struct{ n int }

func a() int { return b() }

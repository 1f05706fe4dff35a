package capture

import _ "os"

func forTests() int { return b() }

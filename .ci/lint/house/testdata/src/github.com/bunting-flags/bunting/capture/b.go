package capture

func b() int { return T{}.n }

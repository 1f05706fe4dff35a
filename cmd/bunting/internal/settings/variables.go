package settings

// Variables are the names of all settings in the environment.
func Variables() []string {
	names := make([]string, len(All))
	for i := range All {
		names[i] = All[i].Env()
	}
	return names
}

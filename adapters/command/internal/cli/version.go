package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version prints the version and the build information of the binary.
var Version = Command{Name: "version", Summary: "print version and build", Run: version, Help: versionHelp}

const versionHelp = `Usage: bunting version [--json]

Prints the version, the revision that it was built from, if known, the Go
release and the platform.

  --json   print JSON
`

// Build is the build information of the binary. Revision and Time are empty if they are unknown.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"`     // of the revision
	Modified bool   `json:"modified"` // the source was modified after the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuild returns the build information of the running binary.
func ReadBuild() Build {
	b := Build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func version(_ context.Context, p *Program, args []string) error {
	fs := NewFlags("version")
	asJSON := fs.Bool("json", false, "")
	if err := NoArgs(fs, args); err != nil {
		return err
	}
	b := ReadBuild()
	if *asJSON {
		text, err := Indent(b)
		if err != nil {
			return err
		}
		return p.Print(text)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "bunting   %s\n", b.Version)
	if b.Revision != "" {
		fmt.Fprintf(&out, "revision  %s", b.Revision)
		if b.Time != "" {
			fmt.Fprintf(&out, " of %s", b.Time)
		}
		if b.Modified {
			out.WriteString(", with changes")
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "go        %s\nplatform  %s\n", b.Go, b.Platform)
	return p.Print(out.String())
}

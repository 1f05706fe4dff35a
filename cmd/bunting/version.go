package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

func versionHelp() string {
	return `Usage: bunting version [--json]

Prints the version, the revision it was built from when that is known, the
Go release and the platform.

  --json   for programs
`
}

// build is what the binary knows of itself.
type build struct {
	version, revision, time string
	modified                bool // since the revision
}

// buildShown is a build for programs. Revision and time are empty where they are
// not known.
type buildShown struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"` // of the revision
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.time":
			b.time = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}

func (p *program) version(_ context.Context, args []string) error {
	fs := newFlags("version")
	asJSON := fs.Bool("json", false, "")
	if err := noArgs(fs, args); err != nil {
		return err
	}
	b := readBuild()
	if *asJSON {
		text, err := indented(buildShown{b.version, b.revision, b.time, b.modified, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
		if err != nil {
			return err
		}
		return p.print(text)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "bunting   %s\n", b.version)
	if b.revision != "" {
		fmt.Fprintf(&out, "revision  %s", b.revision)
		if b.time != "" {
			fmt.Fprintf(&out, " of %s", b.time)
		}
		if b.modified {
			out.WriteString(", with changes")
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "go        %s\nplatform  %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return p.print(out.String())
}

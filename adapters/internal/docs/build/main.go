// Command build writes the documentation as a static site: the pages of this repository as HTML and
// as Markdown, the reference of the HTTP API, a search, and llms.txt for programs that read
// documentation. It fails if a link or an anchor has no target.
//
//	build DIR          writes the files to a folder
//	build -zip FILE    writes them to an archive, for adapters/internal/docs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/bunting-flags/bunting/adapters/server"
)

// root is the root of the repository, relative to the folder of this package.
const root = "../../../.."

func main() {
	archive := flag.String("zip", "", "write the site to this `file`")
	flag.Parse()
	if err := run(*archive, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(archive string, args []string) error {
	if (archive == "") != (len(args) == 1) {
		return errors.New("usage: build DIR, or build -zip FILE")
	}
	description, err := describeAPI(context.Background())
	if err != nil {
		return err
	}
	files, err := build(root, description)
	if err != nil {
		return err
	}
	if archive != "" {
		data, err := pack(files)
		if err != nil {
			return err
		}
		return os.WriteFile(archive, data, 0o644)
	}
	return write(args[0], files)
}

// write writes files into a folder, which is created if it is missing. Other files in it remain.
func write(dir string, files map[string][]byte) error {
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// describeAPI returns the OpenAPI description of a server with all of its parts.
func describeAPI(ctx context.Context) (_ []byte, err error) {
	s, err := server.Open(ctx, server.Options{SignIn: &server.SignIn{}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/schema/", nil))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("/api/schema/: %d %s", w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}

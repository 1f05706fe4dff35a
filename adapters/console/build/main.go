// Command build bundles the console's sources into the folder that is embedded. It does not need
// Node: esbuild is a Go library.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	files, err := bundle("../src")
	if err == nil {
		err = write("../dist", files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bundle returns the files of dist by name, uncompressed.
func bundle(src string) (map[string][]byte, error) {
	out := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(src, "main.ts"), filepath.Join(src, "styles/main.css")},
		Bundle:      true, Splitting: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		EntryNames: "[name]-[hash]", ChunkNames: "[name]-[hash]", Outdir: "dist", TsconfigRaw: `{"compilerOptions": {"strict": true}}`,
	})
	if len(out.Errors) > 0 {
		return nil, fmt.Errorf("the console cannot be bundled:\n%s", strings.Join(api.FormatMessages(out.Errors, api.FormatMessagesOptions{}), ""))
	}
	files, entries := map[string][]byte{}, map[string]string{}
	for _, f := range out.OutputFiles {
		name := filepath.Base(f.Path)
		files[name] = f.Contents
		if strings.HasPrefix(name, "main-") {
			entries[filepath.Ext(name)] = name
		}
	}
	var shared strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, "chunk-") && bytes.Contains(files[entries[".js"]], []byte(`from"./`+name+`"`)) {
			fmt.Fprintf(&shared, "<link rel=\"modulepreload\" href=\"%s\">\n", name)
		}
	}
	icon, err := os.ReadFile(filepath.Join(src, "icon.svg"))
	if err != nil {
		return nil, err
	}
	iconName := fmt.Sprintf("icon-%X.svg", sha256.Sum256(icon))[:13] + ".svg"
	files[iconName] = icon
	files["shell.html"] = fmt.Appendf(nil, shell, iconName, entries[".css"], shared.String(), entries[".js"])
	return files, nil
}

// shell is the only HTML document. Scripts create the content of all pages.
const shell = `<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<base href="{{.}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Bunting</title>
<link rel="icon" href="%s">
<link rel="stylesheet" href="%s">
%s<script type="module" src="%s"></script>
</head>
<body></body>
</html>
`

// write replaces the folder's files. Assets are stored compressed.
func write(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if name != "shell.html" {
			var err error
			if text, err = pack(text); err != nil {
				return err
			}
			name += ".gz"
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

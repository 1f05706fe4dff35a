package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"path"
	"slices"
)

// compressed are the extensions of files that are already compressed.
var compressed = []string{".png", ".webp"}

// pack returns an archive of files. It depends on the files only.
func pack(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, name := range sortedNames(files) {
		method := zip.Deflate
		if slices.Contains(compressed, path.Ext(name)) {
			method = zip.Store
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(files[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// Package lastgood stores copies of valid files: the definitions with which a program starts while
// the server is unavailable. A copy has a checksum of its text and replaces the previous one
// atomically, so that reading it returns either the whole text or an error.
package lastgood

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ErrDamaged reports that a copy exists but was changed since Save.
var ErrDamaged = errors.New("the copy is damaged")

// MaxSize is the maximum size of a copy, in bytes: 64 MiB. Larger copies are neither saved nor
// read.
const MaxSize = 64 << 20

// header begins a copy. The SHA-256 of the text in hexadecimal and a line break follow it.
const header = "bunting-copy-1 sha256:"

const headerSize = len(header) + 2*sha256.Size + 1

// Save writes text as the copy at path, readable only by the current user. It creates the folder if
// it is missing. After an error or a power failure the previous copy is still there.
func Save(path string, text []byte) error {
	if len(text) > MaxSize {
		return fmt.Errorf("%s: a copy of %d bytes is too long, at most %d are kept", path, len(text), MaxSize)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	removeOldTemp(filepath.Dir(path))
	sum := sha256.Sum256(text)
	return Replace(path, 0o600, []byte(header+hex.EncodeToString(sum[:])+"\n"), text)
}

// Replace writes the concatenated parts to the file at path atomically: the file is on the disk
// when Replace returns, and after an error or a power failure it has either the new or the previous
// content. mode is the mode of the file, before the umask. The folder must exist.
func Replace(path string, mode fs.FileMode, parts ...[]byte) (err error) {
	unfinished := filepath.Join(filepath.Dir(path), tempPrefix+rand.Text())
	f, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil {
		err = f.Sync() // otherwise the rename could reach the disk before the text
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes new names in a folder durable, on systems that support it.
func SyncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) { // some network file systems
		err = nil
	}
	return errors.Join(err, f.Close())
}

// tempPrefix begins the names of unfinished files.
const tempPrefix = ".copy-"

// maxTempAge is the age from which an unfinished file counts as left behind by a killed writer.
const maxTempAge = time.Hour

// removeOldTemp removes unfinished files that killed writers left behind.
func removeOldTemp(folder string) {
	entries, _ := os.ReadDir(folder) // on an error there are no entries, and no file is removed
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > maxTempAge {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// Load returns the text of the copy at path. The error wraps fs.ErrNotExist if there is no copy,
// and ErrDamaged if it was modified or truncated.
func Load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	all, err := io.ReadAll(io.LimitReader(f, MaxSize+int64(headerSize)+1))
	if err != nil {
		return nil, err
	}
	if len(all) < headerSize || len(all) > MaxSize+headerSize {
		return nil, fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	text := all[headerSize:]
	sum := sha256.Sum256(text)
	if !bytes.Equal(all[:headerSize], []byte(header+hex.EncodeToString(sum[:])+"\n")) {
		return nil, fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return text, nil
}

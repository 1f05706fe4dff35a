// Package lastgood keeps copies of files that were good once: the definitions that
// a program starts with when whom it would ask does not answer. A copy carries a
// checksum of its text, and replaces the one before in one step, so that what is
// read is either whole or an error.
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

// ErrDamaged says that a copy is there and is not what was saved.
var ErrDamaged = errors.New("the copy is damaged")

// MaxSize bounds a copy, in bytes: 64 MiB. A longer one is neither saved nor read.
const MaxSize = 64 << 20

// header is what a copy begins with, before the SHA-256 of the text in hexadecimal
// and the end of the line.
const header = "bunting-copy-1 sha256:"

const headerSize = len(header) + 2*sha256.Size + 1

// Save makes text the copy at path, which only this user may read. Its folder is
// made when it is missing. After an error, and after a power cut, the copy of
// before is still there.
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

// Replace makes the parts, one behind the other, the file at path, in one step: on the
// disk when it returns, and after an error or a power cut either whole or what was there
// before. mode is that of the file, before the umask. Its folder has to be there.
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
		err = f.Sync() // else the new name could come to disk before its text
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes new names in a folder durable, where folders can be asked for that.
func SyncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) { // of some network file systems
		err = nil
	}
	return errors.Join(err, f.Close())
}

// tempPrefix begins the name of a file that is being written.
const tempPrefix = ".copy-"

// maxTempAge is how old an unfinished copy is whose writer was killed.
const maxTempAge = time.Hour

// removeOldTemp takes away what writers left that were killed.
func removeOldTemp(folder string) {
	entries, _ := os.ReadDir(folder) // where it cannot be read there is nothing to do
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > maxTempAge {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// Load returns the text of the copy at path. Its errors are fs.ErrNotExist, what
// reading meets, and ErrDamaged.
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

package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// loadCopy sets copyPath and applies the copy of the definitions that is there.
func (s *source) loadCopy() {
	if s.c.NoCopy {
		return
	}
	dir := s.c.Dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			s.c.Logger.Warn("no copy of the flag definitions is stored: set a folder (Config.Dir), or NoCopy if none is wanted", "error", err)
			return
		}
		dir = filepath.Join(cache, "bunting")
	}
	sum := sha256.Sum256([]byte(s.c.URL + "\n" + s.c.ProjectKey))
	s.copyPath = filepath.Join(dir, hex.EncodeToString(sum[:16])+".flags")
	if err := s.applyCopy(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.recordFailure(fmt.Errorf("remote: the copy of the definitions: %w", err))
	}
}

// applyCopy reads the copy on disk and applies it.
func (s *source) applyCopy() error {
	all, err := lastgood.Load(s.copyPath)
	if err != nil {
		return err
	}
	line, text, _ := bytes.Cut(all, []byte{'\n'})
	var head copyHead
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("%s: %w", s.copyPath, err)
	}
	return s.apply(text, cleanVersion(head.Version), FromCopy, head.FetchedAt)
}

// save passes a copy to saveCopies. It replaces one that still waits to be written.
func (s *source) save(c savedCopy) {
	if s.copyPath == "" {
		return
	}
	select {
	case <-s.copies:
	default:
	}
	s.copies <- c // Only one goroutine sends, so the channel has space.
}

// saveCopies writes copies until the channel is closed. It logs the first of several consecutive
// failures.
func (s *source) saveCopies() {
	logged := false
	for c := range s.copies {
		line, err := json.Marshal(c.head)
		if err == nil {
			err = lastgood.Save(s.copyPath, bytes.Join([][]byte{line, c.text}, []byte{'\n'}))
		}
		if err != nil && !logged {
			s.c.Logger.Warn("the copy of the flag definitions cannot be written, a start without the server will not have them", "error", err)
		}
		logged = err != nil
	}
}

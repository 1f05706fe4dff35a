// Package fallbacksource stores the last good definitions of projects on disk, so that a server can
// evaluate flags while its database is unavailable, even if the server starts during that time
// (decision 29). Copies are written in the background after a change, and reading one returns the
// whole copy or an error (package lastgood).
package fallbacksource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// MaxProjects is the maximum number of copies in a folder. For one more, the oldest copy is removed
// that this process has neither written nor verified. If there is no such copy, the new copy is not
// written, which is logged.
const MaxProjects = 1024

// Copies is a folder of copies, one file per project of at most lastgood.MaxSize. It implements
// serving.Source by reading the files. It is safe for concurrent use.
type Copies struct {
	folder string
	logger *slog.Logger

	mu    sync.Mutex
	files map[string]*copyFile // by keyName
	full  bool                 // it was logged that there are MaxProjects copies
}

// copyFile is a file of the folder.
type copyFile struct {
	file string
	// project is the project in the file, or nil if this process has not read or written it.
	project *flags.Project
	at      time.Time // when the file was written
}

// record is the content of a file.
type record struct {
	Project     flags.Project   `json:"project"`
	Definitions json.RawMessage `json:"definitions"`
}

const fileEnd = ".copy"

// keyName returns the part of a file's name that identifies the API key: 128 bits of its SHA-256.
func keyName(apiKey string) string {
	sum := sha256.Sum256([]byte(apiKey))
	return hex.EncodeToString(sum[:16])
}

// Open opens a folder and creates it if it is missing. logger must not be nil.
func Open(folder string, logger *slog.Logger) (*Copies, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	c := &Copies{folder: folder, logger: logger, files: map[string]*copyFile{}}
	for _, e := range entries {
		id, name, ok := strings.Cut(strings.TrimSuffix(e.Name(), fileEnd), "-")
		if _, err := strconv.ParseInt(id, 10, 64); err != nil || !ok || !strings.HasSuffix(e.Name(), fileEnd) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			c.files[name] = &copyFile{file: e.Name(), at: info.ModTime()}
		}
	}
	return c, nil
}

// Len returns the number of copies.
func (c *Copies) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.files)
}

// load reads a copy. The error is fs.ErrNotExist if there is no copy.
func (c *Copies) load(apiKey string) (*record, error) {
	c.mu.Lock()
	k := c.files[keyName(apiKey)]
	c.mu.Unlock()
	if k == nil {
		return nil, os.ErrNotExist
	}
	text, err := lastgood.Load(filepath.Join(c.folder, k.file))
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", k.file, err)
	}
	if r.Project.APIKey != apiKey {
		return nil, fmt.Errorf("%s is the copy of another project", k.file)
	}
	return &r, nil
}

// read is like load, for requests: it returns flags.ErrUnknownKey if there is no copy, and logs
// other errors.
func (c *Copies) read(apiKey string) (*record, error) {
	r, err := c.load(apiKey)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no stored copy of it", flags.ErrUnknownKey)
	}
	if err != nil {
		c.logger.Error("the copy of a project's definitions cannot be used", "error", err)
	}
	return r, err
}

// ProjectByKey implements serving.Source. flags.ErrUnknownKey means that there is no copy, not that
// there is no project.
func (c *Copies) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	r, err := c.read(apiKey)
	if err != nil {
		return flags.Project{}, err
	}
	return r.Project, nil
}

// Definitions implements serving.Source.
func (c *Copies) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	r, err := c.read(p.APIKey)
	if err != nil {
		return flags.Definitions{}, err
	}
	return flags.ParseDefinitions(r.Definitions)
}

var _ serving.Source = (*Copies)(nil)

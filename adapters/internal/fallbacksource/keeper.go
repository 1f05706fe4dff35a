package fallbacksource

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Source has the definitions that are copied.
type Source interface {
	serving.Source
	// DefinitionsText returns the text of the definitions, in the format of flags.ParseDefinitions.
	DefinitionsText(ctx context.Context, projectID int64) ([]byte, error)
}

// retryAfter is how long the writer waits after an error.
const retryAfter = time.Second

// logInterval is the minimum time between two log messages about copies that cannot be written.
const logInterval = time.Minute

// Keeper is a serving.Source that writes copies of the requested projects. Requests only record
// which projects have changed; one goroutine reads and writes, each project once however often it
// has changed since.
type Keeper struct {
	copies *Copies
	source Source

	mu      sync.Mutex
	waiting map[string]task // by API key, at most MaxProjects
	wake    chan struct{}
	stop    context.CancelFunc
	done    chan struct{}
}

// task is a copy to write or to remove.
type task struct {
	project flags.Project
	remove  bool
}

// Keep starts to write copies of a source, until Close.
func (c *Copies) Keep(source Source) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{copies: c, source: source, waiting: map[string]task{}, wake: make(chan struct{}, 1), stop: cancel, done: make(chan struct{})}
	go k.run(ctx)
	return k
}

// Close stops writing. Copies that are not yet written are written after the next request for their
// project.
func (k *Keeper) Close() {
	k.stop()
	<-k.done
}

// ProjectByKey implements serving.Source. It also records that a copy has to be written or removed.
func (k *Keeper) ProjectByKey(ctx context.Context, apiKey string) (flags.Project, error) {
	p, err := k.source.ProjectByKey(ctx, apiKey)
	switch {
	case err == nil:
		k.enqueue(apiKey, task{project: p})
	case errors.Is(err, flags.ErrUnknownKey):
		k.enqueue(apiKey, task{remove: true})
	}
	return p, err
}

// Definitions implements serving.Source.
func (k *Keeper) Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error) {
	return k.source.Definitions(ctx, p)
}

// enqueue adds a task for the writer, unless the copy is up to date.
func (k *Keeper) enqueue(apiKey string, t task) {
	if !k.copies.isChanged(apiKey, &t) {
		return
	}
	k.mu.Lock()
	_, queued := k.waiting[apiKey]
	if queued || len(k.waiting) < MaxProjects { // a task that does not fit is added with the next request for the project
		k.waiting[strings.Clone(apiKey)] = t
	}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// isChanged reports whether the task would change the copy of a project.
func (c *Copies) isChanged(apiKey string, t *task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := c.files[keyName(apiKey)]
	if t.remove {
		return file != nil
	}
	return file == nil || file.project == nil || !reflect.DeepEqual(*file.project, t.project)
}

// run executes tasks until the context ends. It logs errors at most once in logInterval.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	var project int64
	say := throttle.Every(logInterval, func(err error, _ int) {
		k.copies.logger.Warn("the definitions of a project could not be stored on disk", "project", project, "error", err)
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		}
		for {
			apiKey, t, ok := k.next()
			if !ok || ctx.Err() != nil {
				break
			}
			err := k.write(ctx, apiKey, &t)
			if err == nil || ctx.Err() != nil {
				continue
			}
			project = t.project.ID
			say(err)
			select { // the task is added with the next request for the project
			case <-ctx.Done():
			case <-time.After(retryAfter):
			}
		}
	}
}

// next removes a task from the queue. ok is false if the queue is empty.
func (k *Keeper) next() (string, task, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for apiKey, t := range k.waiting {
		delete(k.waiting, apiKey)
		return apiKey, t, true
	}
	return "", task{}, false
}

// write writes or removes a copy.
func (k *Keeper) write(ctx context.Context, apiKey string, t *task) error {
	c := k.copies
	if t.remove {
		return c.remove(keyName(apiKey))
	}
	if !k.copies.isChanged(apiKey, t) || !c.makeRoom(keyName(apiKey)) {
		return nil
	}
	definitions, err := k.source.DefinitionsText(ctx, t.project.ID)
	if err != nil {
		return nil // the source is unavailable, which is logged elsewhere
	}
	return c.save(&t.project, definitions)
}

// save writes a copy, unless the file already has the same content. It then removes copies under
// the project's former keys.
func (c *Copies) save(p *flags.Project, definitions []byte) error {
	text, err := json.Marshal(&record{*p, definitions})
	if err != nil {
		return err
	}
	name := keyName(p.APIKey)
	file := fmt.Sprintf("%d-%s%s", p.ID, name, fileEnd)
	path := filepath.Join(c.folder, file)
	if old, err := lastgood.Load(path); err != nil || !bytes.Equal(old, text) {
		if err := lastgood.Save(path, text); err != nil {
			return err
		}
	}
	project := *p
	c.mu.Lock()
	c.files[name] = &copyFile{file: file, project: &project, at: time.Now()}
	var former []string // keys that the project had before
	for other, k := range c.files {
		if other != name && strings.HasPrefix(k.file, fmt.Sprintf("%d-", p.ID)) {
			former = append(former, other)
		}
	}
	c.mu.Unlock()
	for _, other := range former {
		err = errors.Join(err, c.remove(other))
	}
	return err
}

// remove removes the copy with a keyName.
func (c *Copies) remove(name string) error {
	c.mu.Lock()
	k := c.files[name]
	delete(c.files, name)
	c.mu.Unlock()
	if k == nil {
		return nil
	}
	if err := os.Remove(filepath.Join(c.folder, k.file)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// makeRoom reports whether a copy may be written. If there are MaxProjects copies, it removes one
// that this process does not use, if there is one.
func (c *Copies) makeRoom(name string) bool {
	c.mu.Lock()
	_, exists := c.files[name]
	oldest, number := "", len(c.files)
	if !exists && number >= MaxProjects {
		for other, k := range c.files {
			if k.project == nil && (oldest == "" || k.at.Before(c.files[oldest].at)) {
				oldest = other
			}
		}
	}
	first := !c.full && oldest == "" && !exists && number >= MaxProjects
	c.full = c.full || first
	c.mu.Unlock()
	switch {
	case exists || number < MaxProjects:
		return true
	case oldest == "":
		if first {
			c.logger.Warn("the definitions of further projects are not stored on disk: the limit is reached", "kept", MaxProjects)
		}
		return false
	}
	return c.remove(oldest) == nil
}

var _ serving.Source = (*Keeper)(nil)

package segment

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
)

// Ahead requests parts of the files of a bucket before a scan reads them, some at a time. It only helps: a part
// that it has not read, or could not read, is requested when it is needed. It must be closed.
type Ahead struct {
	folder   *Folder
	o        *objects
	ctx      context.Context
	cancel   context.CancelFunc
	stop     func() bool // ends waiting for the end of the folder
	requests sync.WaitGroup
	mu       sync.Mutex
	parts    int64 // that have room
}

// Ahead returns an Ahead that ends with ctx, or nil for files on a disk.
func (f *Folder) Ahead(ctx context.Context) *Ahead {
	o, ok := f.storage.(*objects)
	if !ok {
		return nil
	}
	a := &Ahead{folder: f, o: o}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.stop = context.AfterFunc(o.ctx, a.cancel)
	return a
}

// Open is like Folder.Open, and is cancelled with a. If the file was replaced, the error is fs.ErrNotExist.
func (a *Ahead) Open(name string) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return a.folder.files.open(name, false, func() (*File, error) { return a.folder.load(a.ctx, name) })
}

// ColumnSet are the columns that a scan reads of a group, in addition to the columns of File.Names.
type ColumnSet struct {
	People, Origins bool // the columns of File.People and File.Origins
	Texts           []Text
	Properties      []string // with columns in the file
}

// columns returns the columns of a group.
func (w *ColumnSet) columns(f *File, group int) (list []*chunk) {
	g := &f.groups[group]
	fixed := []int{idColumn, timeColumn, nameColumn}
	if w.People {
		fixed = append(fixed, distinctColumn, personColumn, createdColumn)
	}
	if w.Origins {
		fixed = append(fixed, arrivedColumn, uuidColumn, modeColumn, historicalColumn)
	}
	for _, text := range w.Texts {
		fixed = append(fixed, int(text))
	}
	for _, at := range fixed {
		list = append(list, &g.chunks[at])
	}
	for _, name := range w.Properties {
		if at, ok := f.properties[name]; ok {
			list = append(list, &g.properties[at])
		}
	}
	return list
}

// parts returns the parts of a file that have the columns of a group, in order.
func (w *ColumnSet) parts(f *File, group int) (list []int64) {
	for _, c := range w.columns(f, group) {
		for at := c.offset / partSize; at <= (c.end()-1)/partSize; at++ {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Request begins to request columns of a group. It waits while too many parts are requested, and returns
// early if isLate returns true. Parts that follow one another are one request. It returns the number of
// parts, for which Done must be called when the scan begins to read them. The error is that of the context of
// a, which also ends when a request fails: then a bucket is probably unavailable.
func (a *Ahead) Request(f *File, group int, w *ColumnSet, isLate func() bool) (parts int, err error) {
	if group < 0 || group >= len(f.groups) {
		return 0, nil
	}
	r := f.contents.(*objectReader)
	missing := a.o.cache.missing(f.name, w.parts(f, group))
	missing = missing[:min(len(missing), unitParts)]
	if len(missing) == 0 {
		return 0, a.ctx.Err()
	}
	parts = len(missing)
	if err := a.o.room.Acquire(a.ctx, int64(parts)); err != nil {
		return 0, err
	}
	a.mu.Lock()
	a.parts += int64(parts)
	a.mu.Unlock()
	for len(missing) > 0 && !isLate() {
		if err := a.o.requests.Acquire(a.ctx, 1); err != nil {
			return parts, err
		}
		n := 1
		for n < min(len(missing), requestParts) && missing[n] == missing[n-1]+1 {
			n++
		}
		loading, first, rest := a.o.cache.startAhead(f.name, missing[:n])
		missing = missing[n-len(rest):]
		a.requests.Go(func() {
			defer a.o.requests.Release(1)
			a.load(r, first, loading)
		})
	}
	return parts, nil
}

// Done releases the room of some parts.
func (a *Ahead) Done(parts int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts -= int64(parts)
	a.o.room.Release(int64(parts))
}

// load requests parts of an object from one on.
func (a *Ahead) load(r *objectReader, first int64, loading []*loadingPart) {
	if len(loading) == 0 {
		return
	}
	buffers := make([][]byte, len(loading))
	defer func() {
		for i, l := range loading {
			l.data = buffers[i]
			a.o.cache.end(partKey{r.name, first + int64(i)}, l)
		}
	}()
	for i := range buffers {
		buffers[i] = r.buffer(first + int64(i))
	}
	ctx, cancel := context.WithTimeout(a.ctx, readTime)
	defer cancel()
	err := a.o.bucket.ReadAt(ctx, r.name, first*partSize, buffers...)
	for _, l := range loading {
		l.err = err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the file may have been replaced
		a.cancel()
	}
}

// Close cancels the requests and waits for their end.
func (a *Ahead) Close() {
	a.cancel()
	a.stop()
	a.requests.Wait()
	a.o.room.Release(a.parts)
	a.parts = 0
}

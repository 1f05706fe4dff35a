package segment

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"
)

// maxMetadata is the maximum size of the metadata of files in memory, unless files in use have more, before SetMemory.
// A file of 140,000 events has about 50 KiB, so a store of a hundred million events fits. Reading it needs 0.8 ms,
// and requests if the file is in a bucket.
const maxMetadata = 40 << 20

// openFiles are the files of a folder with metadata in memory: the files in use, and the last ones that were
// used. Some of them also have a descriptor. When a bound is reached, the least recently used file is
// removed, or its descriptor is closed. If too many are in use, further files have no descriptor of their
// own, see localFile.
type openFiles struct {
	mostBytes, mostDescriptors int
	loading                    singleflight.Group

	mu    sync.Mutex
	files map[string]*File
	// unused are the files without users, and idle the unused files that have a descriptor.
	unused, idle *simplelru.LRU[string, *File]
	bytes        int // of the metadata of files
	descriptors  int // of these files, and of files that were removed while they are in use
	closed       bool
	// removals is the number of names that were removed or written, so that open does not keep a
	// file that was removed meanwhile.
	removals int
}

func newOpenFiles(descriptors int) *openFiles {
	o := &openFiles{mostBytes: maxMetadata, mostDescriptors: descriptors, files: map[string]*File{}}
	o.unused, _ = simplelru.NewLRU[string, *File](math.MaxInt, nil) // fails only for sizes below 1
	o.idle, _ = simplelru.NewLRU[string, *File](math.MaxInt, nil)
	return o
}

// open returns the file with a name, which must be released. It calls load unless the file is in memory or
// being loaded. Calls with isShared share a call of load, which must not be cancelled by one of them.
func (o *openFiles) open(name string, isShared bool, load func() (*File, error)) (file *File, err error) {
	o.mu.Lock()
	removals, closed := o.removals, o.closed
	if file = o.files[name]; file != nil {
		return o.use(file)
	}
	o.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if isShared { // a file that was loaded before a removal is not for calls after it
		var loaded any
		loaded, err, _ = o.loading.Do(strconv.Itoa(removals)+" "+name, func() (any, error) { return load() })
		file, _ = loaded.(*File)
	} else {
		file, err = load()
	}
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	if listed := o.files[name]; listed != nil {
		file = listed
	} else if !o.closed && o.removals == removals {
		o.files[name] = file
		o.bytes += file.memory()
		o.shrink()
	}
	return o.use(file)
}

// use counts a user of a file, and opens a descriptor if there may be one more. o must be locked, and is
// unlocked.
func (o *openFiles) use(file *File) (*File, error) {
	o.unused.Remove(file.name)
	o.idle.Remove(file.name)
	file.users++
	isNew := !file.hasDescriptor && o.reserve()
	if isNew {
		file.hasDescriptor, file.opened = true, time.Now()
	}
	o.mu.Unlock()
	if !isNew {
		return file, nil
	}
	if err := file.contents.open(); err != nil {
		o.release(file)
		o.forget(file.name)
		return nil, err
	}
	return file, nil
}

// reserve reports whether one more descriptor may be opened. If necessary, it closes one that is not in use.
func (o *openFiles) reserve() bool {
	if o.descriptors >= o.mostDescriptors {
		_, oldest, ok := o.idle.RemoveOldest()
		if !ok {
			return false
		}
		o.closeDescriptor(oldest)
	}
	o.descriptors++
	return true
}

func (o *openFiles) closeDescriptor(file *File) {
	if file.hasDescriptor {
		file.hasDescriptor = false
		o.descriptors--
		_ = file.contents.Close() // it was only read
	}
}

// release ends the use of a file.
func (o *openFiles) release(file *File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if file.users--; file.users > 0 {
		return
	}
	if o.files[file.name] != file { // removed meanwhile
		o.closeDescriptor(file)
		return
	}
	o.unused.Add(file.name, file)
	if file.hasDescriptor {
		o.idle.Add(file.name, file)
	}
	o.shrink()
}

// shrink removes unused files from memory as long as there is too much metadata.
func (o *openFiles) shrink() {
	for o.bytes > o.mostBytes {
		name, _, ok := o.unused.GetOldest()
		if !ok {
			return
		}
		o.remove(name)
	}
}

// remove removes a file from memory, or at the end of its use.
func (o *openFiles) remove(name string) {
	file := o.files[name]
	if file == nil {
		return
	}
	delete(o.files, name)
	o.bytes -= file.memory()
	o.unused.Remove(name)
	o.idle.Remove(name)
	if file.users == 0 {
		o.closeDescriptor(file)
	}
}

// forget removes a file that is removed or written.
func (o *openFiles) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removals++
	o.remove(name)
}

// closeUnused closes descriptors that were opened before a time that is age ago and are not in use.
func (o *openFiles) closeUnused(age time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, file := range o.idle.Values() {
		if time.Since(file.opened) >= age {
			o.idle.Remove(file.name)
			o.closeDescriptor(file)
		}
	}
}

// close removes all files from memory.
func (o *openFiles) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for name := range o.files {
		o.remove(name)
	}
}

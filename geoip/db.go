package geoip

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	geoip2 "github.com/oschwald/geoip2-golang/v2"
)

// rememberedAddresses is how many addresses keep their answer, the least recently asked for going first. Full, the
// memory takes about 20 MB for Locate and 30 MB for Details; less where answers are "nothing known".
const rememberedAddresses = 32_768

// defaultWatchInterval is how often Watch looks at the file unless told otherwise.
const defaultWatchInterval = 5 * time.Second

// DB is an open database. All methods may be used at the same time from many goroutines. Nil is one that is closed.
type DB struct {
	path    string
	current atomic.Pointer[database] // nil after Close

	mu     sync.Mutex  // one reload at a time; guards what follows
	tried  os.FileInfo // the file of the last attempt, good or bad; nil: there was none
	closed bool

	lookups, hits, unreadable atomic.Uint64
	reloads, failedReloads    atomic.Uint64
}

// database is one file in memory with the answers it has given. It is dropped as a whole, so no answer of an old
// file outlives it. The reader is never closed: its bytes are ordinary memory and look-ups may still be under way.
type database struct {
	reader     *geoip2.Reader
	ipv4Only   bool
	kind       string
	built      time.Time
	remembered *lru.Cache[netip.Addr, answer]
}

// Stats are totals since Open, except Remembered, Type and Built, which are of the moment.
type Stats struct {
	Lookups       uint64    // calls of Locate and Details with an address that may have a place (not loopback, private, ...)
	Hits          uint64    // of these, answered from memory
	Unreadable    uint64    // look-ups that met a damaged record and were answered with nothing
	Reloads       uint64    // files taken into use after the first
	FailedReloads uint64    // attempts that kept the last good database
	Remembered    int       // addresses in memory
	Type          string    // database type in the file, e.g. GeoLite2-City; empty after Close
	Built         time.Time // when its publisher built it, UTC; zero after Close
}

// Open reads the database at path. The error names the path and wraps fs.ErrNotExist, [ErrDamaged] or [ErrWrongKind].
func Open(path string) (*DB, error) {
	db := &DB{path: path}
	l, info, err := load(path)
	if err != nil {
		return nil, err
	}
	db.tried = info
	db.current.Store(l)
	return db, nil
}

// load reads and checks a file; the state of the file comes with an error too, see readFile.
func load(path string) (*database, os.FileInfo, error) {
	data, info, err := readFile(path)
	if err != nil {
		return nil, info, fmt.Errorf("geoip: %w", err)
	}
	reader, err := openReader(data)
	if err != nil {
		return nil, info, fmt.Errorf("geoip: %s: %w", path, err)
	}
	remembered, err := lru.New[netip.Addr, answer](rememberedAddresses)
	if err != nil {
		return nil, info, fmt.Errorf("geoip: %w", err)
	}
	meta := reader.Metadata()
	return &database{
		reader:     reader,
		ipv4Only:   meta.IPVersion == 4,
		kind:       meta.DatabaseType,
		built:      meta.BuildTime().UTC(),
		remembered: remembered,
	}, info, nil
}

func (db *DB) orEmpty() *DB {
	if db == nil {
		return &DB{closed: true}
	}
	return db
}

// Locate returns the properties of §8.3 that are known of ip; nil: nothing is known, or the address is not a public
// one. An IPv4 address in IPv6 form is read as IPv4 and a zone is dropped. The map is shared: callers must not change it.
func (db *DB) Locate(ip netip.Addr) map[string]any { return db.lookUp(ip, wantPlace).place }

// lookUp returns what is known of ip, at least what is wanted of it.
func (db *DB) lookUp(ip netip.Addr, need parts) answer {
	db = db.orEmpty()
	ip = normalize(ip)
	l := db.current.Load()
	if l == nil || !hasPlace(ip) {
		return answer{}
	}
	db.lookups.Add(1)
	if l.ipv4Only && ip.Is6() {
		return answer{}
	}
	a, _ := l.remembered.Get(ip)
	if a.has&need != 0 {
		db.hits.Add(1)
		return a
	}
	a.has |= need
	if record, err := l.reader.City(ip); err == nil {
		a.read(record, need)
	} else {
		db.unreadable.Add(1)
	}
	l.remembered.Add(ip, a)
	return a
}

// hasPlace is false for addresses that mean something else in every network. Documentation addresses are not among them.
func hasPlace(ip netip.Addr) bool {
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsPrivate() &&
		!ip.IsLinkLocalUnicast() && !ip.IsMulticast()
}

// Reload reads the file again, changed or not, and takes it into use with an empty memory. On an error, which says
// the same as one of Open, the last good database stays.
func (db *DB) Reload() error {
	db = db.orEmpty()
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.reload()
}

// HasChanged says whether the file is another than the one last tried: replaced, written to, removed or come back. It
// costs one stat; it is false after Close.
func (db *DB) HasChanged() bool {
	db = db.orEmpty()
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.hasChanged()
}

// Refresh reloads if the file has changed. A bad file is reported once, not again until it changes.
func (db *DB) Refresh() (reloaded bool, err error) {
	db = db.orEmpty()
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.hasChanged() {
		return false, nil
	}
	err = db.reload()
	return err == nil, err
}

// Watch calls Refresh at each interval until ctx is done. every: zero or less means 5 seconds. onError, which
// may be nil, is called with each error of Refresh, from the goroutine of Watch.
func (db *DB) Watch(ctx context.Context, every time.Duration, onError func(error)) {
	if every <= 0 {
		every = defaultWatchInterval
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if _, err := db.Refresh(); err != nil && onError != nil {
			onError(err)
		}
	}
}

// Close lets go of the database: from now on Locate knows nothing and Reload returns [ErrClosed]. Look-ups under way end
// as usual. It may be called twice.
func (db *DB) Close() error {
	db = db.orEmpty()
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = true
	db.current.Store(nil)
	return nil
}

// Stats returns the totals.
func (db *DB) Stats() Stats {
	db = db.orEmpty()
	s := Stats{
		Lookups:       db.lookups.Load(),
		Hits:          db.hits.Load(),
		Unreadable:    db.unreadable.Load(),
		Reloads:       db.reloads.Load(),
		FailedReloads: db.failedReloads.Load(),
	}
	if l := db.current.Load(); l != nil {
		s.Remembered, s.Type, s.Built = l.remembered.Len(), l.kind, l.built
	}
	return s
}

// hasChanged needs db.mu.
func (db *DB) hasChanged() bool {
	if db.closed {
		return false
	}
	info, err := os.Stat(db.path)
	if err != nil {
		info = nil
	}
	return !sameState(db.tried, info)
}

// reload needs db.mu.
func (db *DB) reload() error {
	if db.closed {
		return ErrClosed
	}
	l, info, err := load(db.path)
	db.tried = info
	if err != nil {
		db.failedReloads.Add(1)
		return err
	}
	db.current.Store(l)
	db.reloads.Add(1)
	return nil
}

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

// rememberedAddresses is the number of addresses in the cache of results, which evicts the least
// recently used address. A full cache takes about 20 MB for Locate and 30 MB for Details; less if
// most addresses are unknown.
const rememberedAddresses = 32_768

// defaultWatchInterval is the default interval at which Watch checks the file.
const defaultWatchInterval = 5 * time.Second

// DB is an open database. All methods are safe for concurrent use. A nil *DB acts like a closed
// one.
type DB struct {
	path    string
	current atomic.Pointer[database] // nil after Close

	mu     sync.Mutex  // serializes reloads; guards tried and closed
	tried  os.FileInfo // the file of the last attempt, successful or not; nil if there was no file
	closed bool

	lookups, hits, unreadable atomic.Uint64
	reloads, failedReloads    atomic.Uint64
}

// database is a file in memory with the cache of its results. It is replaced as a whole, so that no
// cached result of an old file remains. The reader is never closed: its bytes are ordinary memory,
// and other goroutines may still use it.
type database struct {
	reader     *geoip2.Reader
	ipv4Only   bool
	kind       string
	built      time.Time
	remembered *lru.Cache[netip.Addr, answer]
}

// Stats are totals since Open, except Remembered, Type and Built, which are current values.
type Stats struct {
	Lookups       uint64    // calls of Locate and Details with an address that may have a location (not loopback, private, ...)
	Hits          uint64    // lookups that were served from the cache
	Unreadable    uint64    // lookups that found a damaged record and returned no result
	Reloads       uint64    // successful reloads after Open
	FailedReloads uint64    // attempts that failed and left the last good database in use
	Remembered    int       // addresses in the cache
	Type          string    // database type in the file, for example GeoLite2-City; empty after Close
	Built         time.Time // build time of the database, UTC; zero after Close
}

// Open reads the database at path. The error contains the path and wraps fs.ErrNotExist,
// [ErrDamaged] or [ErrWrongKind].
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

// load reads and checks a file. It returns the state of the file also with an error, see readFile.
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

// Locate returns the properties of §8.3 for ip. The result is nil if the database has none, or if
// the address is not public. An IPv4 address in IPv6 form is treated as IPv4 and a zone is dropped.
// The map is shared: callers must not modify it.
func (db *DB) Locate(ip netip.Addr) map[string]any { return db.lookUp(ip, wantPlace).place }

// lookUp returns the result for ip, which includes at least the parts in need.
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

// hasPlace reports whether an address may have a location. It is false for addresses that mean
// something different in every network. Documentation addresses are not among them.
func hasPlace(ip netip.Addr) bool {
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsPrivate() &&
		!ip.IsLinkLocalUnicast() && !ip.IsMulticast()
}

// Reload reads the file again, even if it has not changed, and uses it with an empty cache. It
// returns the same errors as Open; after an error the last good database remains in use.
func (db *DB) Reload() error {
	db = db.orEmpty()
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.reload()
}

// Refresh reloads the file if it differs from the one of the last attempt: it was replaced, written
// to, removed or created. It reports a bad file only once until it changes. If the file is
// unchanged, it costs one stat call.
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

// Watch calls Refresh at each interval until ctx is done. If every is zero or less, the interval is
// 5 seconds. onError, which may be nil, is called with each error of Refresh, in the goroutine of
// Watch.
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

// Close releases the database: from now on Locate returns nil and Reload returns [ErrClosed].
// Concurrent lookups finish normally. Close may be called more than once.
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

// hasChanged requires db.mu.
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

// reload requires db.mu.
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

// field is one of the seven properties and the function that reads it from a record.
type field struct {
	name string
	text func(*geoip2.City) string // empty if unknown
}

// fields is the table of §8.3. A Country record has the same shape as a City record, with fewer
// members.
var fields = [...]field{
	{"$geoip_city_name", func(r *geoip2.City) string { return r.City.Names.English }},
	{"$geoip_country_name", func(r *geoip2.City) string { return r.Country.Names.English }},
	{"$geoip_country_code", func(r *geoip2.City) string { return r.Country.ISOCode }},
	{"$geoip_continent_name", func(r *geoip2.City) string { return r.Continent.Names.English }},
	{"$geoip_continent_code", func(r *geoip2.City) string { return r.Continent.Code }},
	{"$geoip_postal_code", func(r *geoip2.City) string { return r.Postal.Code }},
	{"$geoip_time_zone", func(r *geoip2.City) string { return r.Location.TimeZone }},
}

// properties returns the properties in a record, or nil if it contains no value for them.
func properties(r *geoip2.City) map[string]any {
	var p map[string]any
	for _, f := range fields {
		if value := f.text(r); value != "" {
			if p == nil {
				p = make(map[string]any, len(fields))
			}
			p[f.name] = value
		}
	}
	return p
}

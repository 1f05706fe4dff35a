package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// openers are the supported databases by the prefix of their URLs.
var openers = []struct {
	prefix string
	open   func(ctx context.Context, url string, c Caches) (*DB, error)
}{
	{"sqlite:", openSQLite},
	{"postgres://", openPostgres},
	{"postgresql://", openPostgres},
}

// Caches are the sizes of SQLite's page caches in bytes, of the connection that writes and of each other one. The
// caches take almost twice as much memory, because a page of 4 KiB with its header is in a piece of 8 KiB. The pages of
// large tables do not fit anyway, and those that are not here are in the system's cache.
type Caches struct{ Writer, Reader int64 }

// pragmas returns the pragmas of the sizes, which SQLite expects in KiB as negative numbers.
func (c Caches) pragmas() (writer, reader string) {
	return fmt.Sprintf("cache_size(%d)", -c.Writer>>10), fmt.Sprintf("cache_size(%d)", -c.Reader>>10)
}

// smallCaches are the caches of Open.
var smallCaches = Caches{Writer: 8 << 20, Reader: 3 << 20}

// Open prepares the database of a URL. The drivers connect on first use.
func Open(ctx context.Context, url string) (*DB, error) { return OpenCaching(ctx, url, smallCaches) }

// OpenCaching is Open with sizes of page caches.
func OpenCaching(ctx context.Context, url string, c Caches) (*DB, error) {
	for _, o := range openers {
		if strings.HasPrefix(url, o.prefix) {
			return o.open(ctx, url, c)
		}
	}
	scheme, _, found := strings.Cut(url, ":")
	if !found || len(scheme) > 20 {
		scheme = "no scheme"
	}
	return nil, fmt.Errorf("database: %s is not known: use sqlite:PATH, sqlite::memory:, or postgres://user:password@host/database", scheme)
}

// readers is the number of connections that read concurrently with the writer.
const readers = 3

// sqlitePragmas are the pragmas of every connection. The checkpointer runs the
// checkpoints; a commit runs one itself only if the checkpointer falls behind. Deleted data is
// overwritten with zeros, because it may be the data of a person who was erased.
var sqlitePragmas = []string{
	"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)",
	"temp_store(MEMORY)", "secure_delete(1)", fmt.Sprintf("wal_autocheckpoint(%d)", longestLog), "journal_size_limit(67108864)",
}

// openSQLite opens a SQLite file, which it creates and locks, or a database in memory.
// A file gets three pools: one connection that writes, some that only read, and one for
// checkpoints.
func openSQLite(_ context.Context, address string, c Caches) (*DB, error) {
	path := strings.TrimPrefix(address, "sqlite:")
	o := &DB{Dialect: SQLite, DisplayURL: address, Unlock: func() error { return nil }}
	switch {
	case path == ":memory:":
		db, err := openCaching("file::memory:?_pragma=temp_store(MEMORY)")
		if err != nil {
			// All three pools share the single connection of the database in memory.
			return o, err
		}
		db.SetMaxOpenConns(1) // a second connection would open a second database
		o.Read, o.Write, o.Quick = db, db, db
		return o, nil
	case path == "":
		return o, fmt.Errorf("database %s: the path is missing: use sqlite:PATH, such as sqlite:data/bunting.db", address)
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return o, fmt.Errorf("database %s: use sqlite:%s, without the slashes before the path", address, path[2:])
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return o, fmt.Errorf("database %s: %w", address, err)
	}
	if o.Unlock, err = prepareFile(path); err != nil {
		return o, err
	}
	o.File = path
	writer, reader := c.pragmas()
	if o.Write, err = openCaching(SQLiteDSN(path, writer)); err == nil {
		o.Write.SetMaxOpenConns(1)
		o.Read, err = openCaching(SQLiteDSN(path, reader, "query_only(1)"))
	}
	if err == nil {
		o.checkpointing, err = sql.Open("sqlite", SQLiteDSN(path, reader))
	}
	if err != nil {
		return o, errors.Join(fmt.Errorf("database %s: %w", address, err), o.Unlock())
	}
	o.Read.SetMaxOpenConns(readers)
	o.Read.SetMaxIdleConns(readers)
	o.Quick = o.Read
	o.checkpointing.SetMaxOpenConns(1)
	return o, nil
}

// prepareFile creates the file and its folder, accessible only for the owner, and locks
// it.
func prepareFile(path string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("database: the folder of %s cannot be made: %w", path, err)
	}
	unlock, err = LockFile(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		_ = unlock()
		return nil, fmt.Errorf("database: %s cannot be opened for writing: %w", path, err)
	}
	return unlock, nil
}

// SQLiteDSN returns the driver's address of a file with sqlitePragmas and more pragmas.
// Transactions begin as writers (immediate), because upgrading a reading transaction
// may fail with SQLITE_BUSY.
func SQLiteDSN(path string, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": append(sqlitePragmas[:len(sqlitePragmas):len(sqlitePragmas)], pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// openPostgres configures the pools for a PostgreSQL database. It does not connect.
func openPostgres(_ context.Context, address string, _ Caches) (*DB, error) {
	o := &DB{Dialect: postgres, Unlock: func() error { return nil }, DisplayURL: "postgres://..."}
	if u, err := url.Parse(address); err == nil {
		o.DisplayURL = (&url.URL{Scheme: "postgres", Host: u.Host, Path: u.Path}).String()
	}
	c, err := pgx.ParseConfig(address)
	if err != nil {
		// The error would contain the address, in which the password may be in an
		// unexpected place.
		return o, fmt.Errorf("database %s: the address cannot be read: write postgres://user:password@host:5432/database, with special characters in user and password as %%XX", o.DisplayURL)
	}
	c.RuntimeParams["timezone"] = "UTC"
	// Every statement of this package has an index. Plans are cached per connection,
	// and a plan from the time when the tables were empty must not scan whole tables, or all
	// rows of a project by the bitmap of another index, forever.
	c.RuntimeParams["enable_seqscan"] = "off"
	c.RuntimeParams["enable_bitmapscan"] = "off"
	c.RuntimeParams["jit"] = "off"
	for name, value := range map[string]string{
		"application_name": "bunting", "idle_in_transaction_session_timeout": strconv.FormatInt(IdleTxTimeout.Milliseconds(), 10),
	} {
		if c.RuntimeParams[name] == "" {
			c.RuntimeParams[name] = value
		}
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	o.Listen = c.Copy()
	open := func(conns int) *sql.DB {
		db := stdlib.OpenDB(*c)
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db
	}
	o.Quick, o.Write = open(QuickConns), open(PostgresConns)
	o.Read = o.Write
	return o, nil
}

// Ping connects to a PostgreSQL database and checks that it responds, whatever its
// contents. It returns after at most a second.
func Ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	o, err := openPostgres(ctx, url, smallCaches)
	if err != nil {
		return err
	}
	return errors.Join(o.Write.PingContext(ctx), o.Write.Close(), o.Quick.Close())
}

// ReadingDSN returns the driver's address for read-only access, which creates no file.
func ReadingDSN(path string) string {
	_, reader := smallCaches.pragmas()
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)", reader}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

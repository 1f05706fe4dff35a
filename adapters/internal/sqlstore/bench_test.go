package sqlstore

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/capture"
)

// benchProperties are properties of 800 bytes, about the size that a browser SDK sends.
var benchProperties = func() string {
	text := `{"$lib":"web","$lib_version":"1.300.0"`
	for i := range 20 {
		text += fmt.Sprintf(`,"property %02d":"a value of it %02d"`, i, i)
	}
	return text + "}"
}()

// benchPages are the properties of page views as posthog-js sends them, of about the given length,
// for 4,096 events. Half of the bytes are names and common values; ids, paths, times and numbers
// differ.
func benchPages(length int) []string {
	random, list := rand.New(rand.NewPCG(1, 2)), make([]string, 4096)
	for i := range list {
		person, page := random.IntN(300), random.IntN(200)
		id := func(kind int) string { return benchUUID(1000*kind+person, 7).String() }
		text := fmt.Sprintf(`{"$current_url":"https://shop.example.com/products/%d/details?ref=%x","$pathname":"/products/%d/details","$session_id":"%s","$device_id":"%s"`,
			page, random.Uint32(), page, id(1), id(2))
		for _, more := range []string{
			fmt.Sprintf(`,"$window_id":"%s","$pageview_id":"%s"`, id(3), benchUUID(5_000_000+i, 7)),
			fmt.Sprintf(`,"$time":%d.%03d,"$screen_width":%d,"$viewport_height":%d`, 1_795_000_000+i, random.IntN(1000), 1280+64*(person%10), 600+random.IntN(400)),
			fmt.Sprintf(`,"$browser":"%s","$browser_version":%d,"$os":"%s","$lib":"web","$lib_version":"1.300.0"`, []string{"Chrome", "Firefox", "Safari"}[person%3], 130+person%9, []string{"Windows", "Mac OS X", "Linux"}[person%4%3]),
			fmt.Sprintf(`,"$referrer":"https://search.example.com/?q=%x","$prev_pageview_duration":%d.%06d,"$insert_id":"%x"`, random.Uint32(), random.IntN(300), random.IntN(1_000_000), random.Uint64()),
			`,"$browser_language":"en-US","$timezone":"Europe/Berlin","$device_type":"Desktop","$raw_user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"`,
		} {
			if len(text) < length {
				text += more
			}
		}
		list[i] = text + "}"
	}
	return list
}

// benchUUID returns the n-th UUID of a benchmark: of version 7, one for each
// microsecond from the first time of the events on, or of version 4.
func benchUUID(n int, version int) (u capture.UUID) {
	hash := sha1.Sum(binary.BigEndian.AppendUint64(nil, uint64(n)))
	copy(u[:], hash[:])
	if version == 7 {
		binary.BigEndian.PutUint64(u[:], uint64(1_795_132_800_000+n/1000)<<16|uint64(n%4096))
	}
	u[6], u[8] = u[6]&0x0f|byte(version)<<4, u[8]&0x3f|0x80
	return u
}

// benchCommits commits batches of 800 events of 200 persons, of whom one in ten is new,
// and indexes the events afterwards.
func benchCommits(b *testing.B, s *Store, version int) {
	const size, people = 800, 200
	ctx, start := context.Background(), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	properties, err := capture.ParseObject(`{"$initial_browser":"Firefox","$initial_os":"Linux","email":"somebody@example.com","plan":"pro"}`)
	if err != nil {
		b.Fatal(err)
	}
	stored := properties.String()
	n, born, pages := 0, 0, benchPages(800)
	b.ReportAllocs()
	before := usedCPU(b)
	for b.Loop() {
		keys, changes := make([]capture.EventKey, size), &capture.Changes{Events: make([]capture.Record, size)}
		for range people / 10 {
			p := &capture.Person{UUID: capture.PersonID(1, fmt.Sprint("person ", born)), CreatedAt: start, Properties: properties}
			changes.Persons = append(changes.Persons, capture.ProjectPerson{ProjectID: 1, Person: p, IsNew: true})
			changes.IDs = append(changes.IDs, capture.ProjectID{ProjectID: 1, DistinctID: fmt.Sprint("person ", born), Person: p.UUID})
			born++
		}
		for i := range size {
			at := start.Add(time.Duration(n) * 10 * time.Microsecond)
			e := capture.Record{
				ProjectID: 1, UUID: benchUUID(n, version), Name: fmt.Sprint("event ", n%7), DistinctID: fmt.Sprint("person ", n*7919%born),
				Properties: pages[n%len(pages)], Timestamp: at, CreatedAt: at, PersonID: changes.Persons[i%20].UUID, PersonCreatedAt: start, PersonProperties: stored,
			}
			keys[i] = capture.EventKey{ProjectID: 1, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID}
			changes.Events[i] = e
			n++
		}
		changes.Usage = []capture.Usage{{OrganizationID: "o", ProjectID: 1, Resource: capture.ResourceEvents, At: start, N: size}}
		err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
			fresh, err := tx.Claim(keys)
			if err != nil || !fresh[0] {
				return fmt.Errorf("claimed %t, %w", fresh[0], err)
			}
			return tx.Save(changes)
		})
		if err == nil {
			_, err = s.Index(ctx, false)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64((usedCPU(b)-before).Nanoseconds())/float64(n), "CPU-ns/event")
	if size := s.Size(ctx); size.Database > 0 {
		b.ReportMetric(float64(size.Database+max(size.WAL, 0))/float64(n), "B/event")
	}
}

// usedCPU returns the CPU time that the process has used.
func usedCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkLedger_Commit800(b *testing.B) {
	for _, version := range []int{7, 4} {
		b.Run(fmt.Sprintf("sqlite/v%d", version), func(b *testing.B) { benchCommits(b, sqliteStores["disk"](b), version) })
	}
	for _, version := range []int{7, 4} {
		b.Run(fmt.Sprintf("postgres/v%d", version), func(b *testing.B) {
			c := pgtest.StartPostgres(b, 0, "-c shared_buffers=256MB -c max_wal_size=4GB")
			s := openStore(b, c.Database(b))
			benchCommits(b, s, version)
		})
	}
}

// The conversion of a store of schema 14, whose events were rows, by the number of events.
func BenchmarkConversion(b *testing.B) {
	const events = 100_000
	for b.Loop() {
		b.StopTimer()
		address := "sqlite:" + filepath.Join(b.TempDir(), "store.db")
		list, pages := make([]capture.Record, events), benchPages(800)
		for i := range list {
			id := fmt.Sprint("person ", i*7919%1000)
			list[i] = capture.Record{
				ProjectID: 1, UUID: benchUUID(i, 7), Name: fmt.Sprint("event ", i%7), DistinctID: id, PersonID: capture.PersonID(1, id), Properties: pages[i%len(pages)],
				PersonProperties: `{"$initial_browser":"Firefox","$initial_os":"Linux","email":"` + id + `@example.com","plan":"pro"}`,
			}
		}
		writeOlder(b, address, 14, list, nil)
		b.StartTimer()
		before := usedCPU(b)
		s := openOlder(b, address)
		convertAll(b, s)
		b.ReportMetric(float64((usedCPU(b)-before).Nanoseconds())/events, "CPU-ns/event")
		if n := countEvents(b, s); n != events {
			b.Fatalf("%d events", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

package sqlstore

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
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

// benchUUID returns the n-th UUID of a benchmark: of version 7, one for each
// microsecond, or of version 4.
func benchUUID(n int, version int) (u capture.UUID) {
	hash := sha1.Sum(binary.BigEndian.AppendUint64(nil, uint64(n)))
	copy(u[:], hash[:])
	if version == 7 {
		binary.BigEndian.PutUint64(u[:], uint64(1_790_000_000_000+n/1000)<<16|uint64(n%4096))
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
	n, born := 0, 0
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
				Properties: benchProperties, Timestamp: at, CreatedAt: at, PersonID: changes.Persons[i%20].UUID, PersonCreatedAt: start, PersonProperties: stored,
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
		b.ReportMetric(float64(size.Database)/float64(n), "B/event")
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

package sqlstore

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// erasedID is the distinct id, and erasedText a text in all properties, of the person who is erased.
const (
	erasedID   = "who-is-erased@example.com"
	erasedText = "a text that nobody may read later"
)

// commitAnn records n events, one in ten of the person who is erased and the rest of others. The
// properties have a random part of the given length. It returns the number of events of the person.
func commitAnn(t *testing.T, s *Store, random *rand.Rand, n, length int) (ofAnn int64) {
	t.Helper()
	var keys []capture.EventKey
	var list []capture.Record
	at := database.FromMicros(1e15)
	for i := range n {
		id, text := fmt.Sprint("other ", i), "x"
		if i%10 == 3 {
			id, text = erasedID, erasedText
		}
		part := make([]byte, length/2)
		for i := range part {
			part[i] = byte(random.Uint32())
		}
		e := capture.Record{
			ProjectID: 1, UUID: capture.PersonID(1, fmt.Sprint("event ", random.Int64())), Name: "seen", DistinctID: id, PersonID: capture.PersonID(1, id),
			Properties: fmt.Sprintf(`{"text":%q,"random":"%x"}`, text, part), PersonProperties: fmt.Sprintf(`{"about":%q}`, text), Timestamp: at, CreatedAt: at,
		}
		if id == erasedID {
			ofAnn++
		}
		keys, list = append(keys, capture.EventKey{ProjectID: 1, UUID: e.UUID, Name: e.Name, DistinctID: id}), append(list, e)
	}
	c := &capture.Changes{Events: list}
	err := s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error {
		if _, err := tx.Claim(keys); err != nil {
			return err
		}
		people, err := tx.People(1, []string{erasedID})
		if err != nil {
			return err
		}
		if people[0].Person == nil {
			properties, err := capture.ParseObject(fmt.Sprintf(`{"about":%q}`, erasedText))
			if err != nil {
				return err
			}
			p := capture.Person{UUID: capture.PersonID(1, erasedID), Properties: properties, CreatedAt: at}
			c.Persons = []capture.ProjectPerson{{ProjectID: 1, Person: &p, IsNew: true}}
			c.IDs = []capture.ProjectID{{ProjectID: 1, DistinctID: erasedID, Person: p.UUID}}
		}
		return tx.Save(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	return ofAnn
}

// personChunks returns the compressed long columns of the chunks that have events of a distinct id, or
// of all chunks if it is empty. The text of other chunks is in the file as it is.
func personChunks(t *testing.T, s *Store, id string) (chunks [][]byte) {
	t.Helper()
	err := database.Query(t.Context(), s.db.Read, func(rows *sql.Rows) error {
		var short, data []byte
		if err := rows.Scan(&short, &data); err != nil {
			return err
		}
		if data[1]&1 != 0 && bytes.Contains(short, []byte(id)) {
			chunks = append(chunks, data)
		}
		return nil
	}, `SELECT short, data FROM event_chunks`)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

// addParts adds pieces of the chunks that have events of the person now.
func addParts(t *testing.T, s *Store, parts map[string]string) {
	t.Helper()
	for _, data := range personChunks(t, s, erasedID) {
		for at := 64; at+64 <= len(data); at += 500 {
			parts[string(data[at:at+64])] = fmt.Sprintf("the bytes %d to %d of a chunk", at, at+64)
		}
	}
}

// After a person is erased with events, no byte of them is left in the files of a store: in no
// page, used or free, and not in the log. All chunks with events of the person are written again.
// The exception are duplicate keys, which are a uuid and a hash: when SQLite moves rows that are not
// in the order of insertion to another page, it leaves copies in the unused part of the first one.
func TestErase_NoBytesAreLeft(t *testing.T) {
	s, random := sqliteStores["disk"](t), rand.New(rand.NewPCG(19, 20))
	parts, want := map[string]string{erasedID: "the distinct id", erasedText: "a property"}, int64(0)
	for _, size := range []struct{ commits, events, length int }{
		{20, 10, 20},   // small chunks, which are not compressed and are merged
		{10, 30, 900},  // merged into large ones
		{1, 1000, 300}, // large chunks
		{1, 10, 300_000},
		{1, 20, 100}, // in no block
	} {
		for range size.commits {
			want += commitAnn(t, s, random, size.events, size.length)
			addParts(t, s, parts)
		}
		if size.length != 100 {
			indexAll(t, s)
			addParts(t, s, parts)
		}
	}
	person := capture.PersonID(1, erasedID)
	find := func() (left []string) {
		for _, name := range []string{s.db.File, s.db.File + "-wal"} {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for part, what := range parts {
				if bytes.Contains(content, []byte(part)) {
					left = append(left, what)
				}
			}
		}
		return left
	}
	// Others are erased before, which moves rows between pages.
	for _, id := range []string{"other 4", "other 17", "other 0", "other 8", "other 1"} {
		person := capture.PersonID(1, id)
		_, err := s.db.Write.Exec(`INSERT INTO distinct_ids (project_id, distinct_id, person_uuid) VALUES (1, $1, $2)`, id, person[:])
		if err == nil {
			err = s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error { _, err := tx.EraseEvents(1, person); return err })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	addParts(t, s, parts)
	if n := len(find()); n < 100 {
		t.Fatalf("only %d parts are found before", n)
	}
	var n int64
	err := s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) (err error) {
		_, n, err = tx.ErasePerson(1, person, true)
		return err
	})
	if err != nil || n != want {
		t.Fatalf("%d events are erased, %v; want %d", n, err, want)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		info, err := os.Stat(s.db.File + "-wal")
		if err != nil || time.Now().After(deadline) {
			t.Fatal("the log is not emptied", err)
		}
		if info.Size() == 0 {
			break
		}
	}
	// Events of others may have the same bytes in the chunks that were written again.
	all := len(parts)
	for _, data := range personChunks(t, s, "") {
		maps.DeleteFunc(parts, func(part, _ string) bool { return bytes.Contains(data, []byte(part)) })
	}
	if len(parts) < all*9/10 {
		t.Errorf("%d of %d parts prove nothing", all-len(parts), all)
	}
	if left := find(); len(left) > 0 {
		t.Errorf("%d parts are left, such as %q", len(left), left[:min(len(left), 10)])
	}
	if e, err := Examine(t.Context(), "sqlite:"+s.db.File, "", false); err != nil || len(e.Faults) > 0 {
		t.Errorf("%q, %v", e.Faults, err)
	}
}

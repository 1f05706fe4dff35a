package serving_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// manyProjects is a slow source of any number of projects that counts the reads of each.
type manyProjects struct {
	definitions flags.Definitions
	mu          sync.Mutex
	lookups     map[string]int
	downloads   map[int64]int
}

func (m *manyProjects) ProjectByKey(_ context.Context, key string) (flags.Project, error) {
	time.Sleep(time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookups[key]++
	var id int64
	_, err := fmt.Sscanf(key, "phc_%d", &id)
	return flags.Project{ID: id, APIKey: key, Revision: 1}, err
}

func (m *manyProjects) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	time.Sleep(time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.downloads[p.ID]++
	return m.definitions, nil
}

// A cold server with 1,000 concurrent requests for 100 projects loads each project exactly
// once.
func TestDecider_ColdServerLoadsEachProjectOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const requests, projects = 1000, 100
	m := &manyProjects{definitions: parse(t, oneFlag), lookups: map[string]int{}, downloads: map[int64]int{}}
	at := time.Now() // constant, so that no entry expires during the test
	d, err := serving.NewDecider(serving.Config{Source: m, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	start := make(chan struct{})
	var all sync.WaitGroup
	for n := range requests {
		all.Go(func() {
			<-start
			if err := decideErr(d, fmt.Sprint("phc_", n%projects)); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	all.Wait()
	if len(m.lookups) != projects || len(m.downloads) != projects || d.Stats().Compilations != projects {
		t.Errorf("%d projects were looked up, %d read, %d compiled", len(m.lookups), len(m.downloads), d.Stats().Compilations)
	}
	for key, n := range m.lookups {
		if n != 1 {
			t.Errorf("%s was looked up %d times", key, n)
		}
	}
	for id, n := range m.downloads {
		if n != 1 {
			t.Errorf("project %d was read %d times", id, n)
		}
	}
}

package sqlstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// Event quotas with several servers (spec/capture.md §13.4, capture/quota.go): a limit
// is exceeded at most by the number of events that the other servers accepted in the
// ten seconds before. The time is that of the requests, one second for each round.
func TestServers_EventQuotaBound(t *testing.T) {
	address := postgresURL(t)
	servers := []*instance{startInstance(t, address, nil), startInstance(t, address, nil), startInstance(t, address, nil)}
	const limit, perRound, rounds, age = 300, 7, 60, 10
	servers[0].apply(t, strings.Replace(sharedFile{}.String(), `"feature_flags":null`, fmt.Sprintf(`"events":%d`, limit), 1))
	at := time.Now().UTC()
	if at.Add(rounds*time.Second).Month() != at.Month() { // counts are by month
		at = at.Add(-rounds * time.Second)
	}
	accepted := 0
	var lately []int // numbers of events accepted by all servers, by round
	for round := range rounds {
		now := 0
		for n, s := range servers {
			now += s.send(t, perRound, at.Add(time.Duration(round)*time.Second), fmt.Sprintf("%d %d", round, n))
		}
		lately = append(lately, now)
		accepted += now
	}
	if accepted < limit {
		t.Errorf("%d of %d are taken: nothing may be refused before the limit", accepted, limit)
	}
	// Of three servers that accept the same number, two are other servers.
	if bound := limit + (len(servers)-1)*perRound*(age+1); accepted > bound {
		t.Errorf("%d events are taken, the limit is %d and the bound %d", accepted, limit, bound)
	}
	if last := lately[rounds-age:]; fmt.Sprint(last) != fmt.Sprint(make([]int, age)) {
		t.Errorf("still taken at the end, by second: %v", last)
	}
	used, err := servers[1].Used(t.Context(), "org", capture.ResourceEvents, at)
	if err != nil || used != int64(accepted) {
		t.Errorf("%d are counted, %d were taken, %v", used, accepted, err)
	}
	t.Logf("%d taken, the limit is %d", accepted, limit)
}

// send sends n events of ann, and returns the number of accepted events.
func (i *instance) send(t *testing.T, n int, when time.Time, event string) int {
	t.Helper()
	items := make([]string, n)
	for k := range items {
		items[k] = fmt.Sprintf(`{"event":"a","distinct_id":"ann","uuid":%q}`, capture.PersonID(1, fmt.Sprint(event, k)))
	}
	s, err := capture.Decode(`{"api_key":"phc_a","batch":[`+strings.Join(items, ",")+`]}`, capture.DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := i.intake.Accept(t.Context(), s, capture.Origin{ReceivedAt: when})
	if err != nil {
		t.Fatal(err)
	}
	return receipt.Accepted
}

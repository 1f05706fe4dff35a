package provider

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// keys gives one secret key access to the project.
type keys struct{}

func (keys) Key(_ context.Context, key string) (httpapi.Key, error) {
	if key != "phs_test" {
		return httpapi.Key{}, flags.ErrUnknownKey
	}
	return httpapi.Key{Secret: true, Projects: []string{apiKey}}, nil
}

// A client with the definitions of a real server: a flag that depends on unknown properties of a
// subject is not decided, and a change of the flags is an event.
func TestProvider_Remote(t *testing.T) {
	source := &switchingSource{project: flags.Project{ID: 1, APIKey: apiKey, Revision: 1}, defs: parsed(t, definitions)}
	d, err := serving.NewDecider(serving.Config{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Config{Decider: d, Keys: keys{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := remote.New(remote.Config{URL: server.URL, ProjectKey: apiKey, Key: "phs_test", NoCopy: true, NoStream: true, Poll: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) }) // there is no server for events
	p := ofprovider.NewRemote(ofprovider.Config{Client: c, NoExposures: true})
	l := listen(t)
	if err := l.api.SetProviderAndWait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	client := l.api.NewClient()
	if got, d := evaluate(client, "on", false, anySubject); got != (outcome{true, "", "STATIC", ""}) {
		t.Errorf("%+v %s", got, d.ErrorMessage)
	}
	if got, d := evaluate(client, "pro", true, anySubject); got.Code != "INVALID_CONTEXT" || got.Value != true || d.FlagMetadata["undecided_name"] != "plan" {
		t.Errorf("%+v %+v", got, d)
	}
	if got, _ := evaluate(client, "paused", true, anySubject); got != (outcome{true, "", "DISABLED", ""}) {
		t.Errorf("%+v", got)
	}
	if got, _ := evaluate(client, "layout", "none", pro); got.Value != "two" {
		t.Errorf("%+v", got)
	}
	source.set(func() { source.project.Revision++; source.defs = parsed(t, `{"flags": []}`) })
	d.Renew(1)
	eventually(t, func() bool { got, _ := evaluate(client, "on", false, anySubject); return got.Code == "FLAG_NOT_FOUND" })
	for kind := range l.events {
		if kind == openfeature.ProviderConfigChange {
			return
		}
	}
}

// Requirement 1.7.7: evaluations of a provider with an unknown key report that this is fatal.
// Before 1.19 the SDK's own details do not include the code.
func TestProvider_1_7_7_Fatal(t *testing.T) {
	d, err := serving.NewDecider(serving.Config{Source: serving.StaticSource(apiKey, flags.Project{ID: 1}, parsed(t, definitions))})
	if err != nil {
		t.Fatal(err)
	}
	events := listen(t)
	var fatal *openfeature.ProviderInitError
	if err := events.api.SetProviderAndWait(t.Context(), ofprovider.New(d, "phc_nobody")); !errors.As(err, &fatal) || fatal.ErrorCode != openfeature.ProviderFatalCode {
		t.Errorf("%v", err)
	}
	if got, _ := evaluate(events.api.NewClient(), "on", false, anySubject); got.Code != openfeature.ProviderFatalCode {
		t.Errorf("%+v", got)
	}
}

package dashboards_test

import (
	"errors"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// §4.1.8: a link opens while sharing is enabled, and its token remains valid for a short time after
// it was replaced. TestDashboards_Passwords tests passwords.
func TestDashboards_Links(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	ctx, bob, d := t.Context(), w.Scope(t, "bob"), w.Dashboards
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := d.Create(ctx, bob, ruletest.Body(t, `{"name":"one"}`))
	must(err)
	first, err := d.Links().Sharing(ctx, bob, "1")
	must(err)
	if len(first.AccessToken) != 30 {
		t.Errorf("a token of %d characters", len(first.AccessToken))
	}
	opens := func(what, token string, want management.Kind, code string) {
		t.Helper()
		shared, err := d.Shared(ctx, token, "", nil)
		var apiErr *management.Error
		switch {
		case errors.As(err, &apiErr):
			if apiErr.Kind != want || apiErr.Code != code {
				t.Errorf("%s: %v, want %s", what, err, code)
			}
		case err != nil || code != "":
			t.Errorf("%s: %v, want %q", what, err, code)
		case *shared.Dashboard.Name != "one" || shared.Dashboard.CreatedBy != nil || shared.Dashboard.EffectivePrivilege != 21 || shared.Dashboard.EffectiveRestriction != 37:
			t.Errorf("%s: %+v", what, shared.Dashboard)
		}
	}
	opens("while it is off", first.AccessToken, management.NotFound, "not_found")
	_, err = d.Links().UpdateSharing(ctx, bob, "1", ruletest.Body(t, `{"enabled":true}`))
	must(err)
	opens("while it is on", first.AccessToken, 0, "")
	opens("an unknown one", "x", management.NotFound, "not_found")
	second, err := d.Links().RefreshSharing(ctx, bob, "1")
	must(err)
	opens("just replaced", first.AccessToken, 0, "")
	opens("the new one", second.AccessToken, 0, "")
	w.Clock = w.Clock.Add(time.Hour)
	opens("replaced an hour ago", first.AccessToken, management.NotFound, "not_found")
	opens("the new one, later", second.AccessToken, 0, "")

	must(w.Store.Write(ctx, func(tx rooms.Tx) error {
		o, err := tx.Organization(ruletest.Organization)
		if err != nil {
			return err
		}
		o.Meta = storage.Encode(management.OrganizationMeta{NoPublicSharing: true})
		return tx.PutOrganization(o)
	}))
	opens("the organization shares nothing", second.AccessToken, management.NotFound, "not_found")
	var apiErr *management.Error
	if _, err = d.Links().UpdateSharing(ctx, w.Scope(t, "bob"), "1", ruletest.Body(t, `{"enabled":true}`)); !errors.As(err, &apiErr) || apiErr.Message != "Public sharing is disabled for this organization." {
		t.Errorf("turning it on: %v", err)
	}
}

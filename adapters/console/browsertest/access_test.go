package browsertest

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// waitRow waits until a table in an element has a row with cells of these contents, separated by
// blanks. Rows have no accessible name.
func (p *page) waitRow(element, cells string) {
	p.t.Helper()
	eventually(p.t, "the row "+cells, func() bool {
		return js[bool](p, fmt.Sprintf("[...document.querySelectorAll(%q)].some(r => [...r.cells].map(c => c.innerText).join(' ') === %q)", element+" tr", cells))
	})
}

// Roles (console.md §2.3, clients.md §12): a role is created, renamed and deleted, and members are
// added and removed.
func TestOrganization_Roles(t *testing.T) {
	s := serve(t)
	s.acceptInvite("ben@example.com")
	p := s.open(t, "organization/members")
	p.expect("400 POST /api/organizations/@current/roles/")
	p.click("button", "New role")
	p.fill("Engineers", "dialog", "New role", "textbox", "Name")
	p.accessible()
	p.click("dialog", "New role", "button", "Create role")
	p.node("table", "Roles", "cell", "0 members")
	p.click("button", "New role")
	p.fill("engineers", "dialog", "New role", "textbox", "Name")
	p.click("dialog", "New role", "button", "Create role")
	eventually(t, "the fault of a name that is taken", func() bool {
		return js[bool](p, "document.querySelector('dialog .fault')?.innerText === 'There is already a role with this name.'")
	})
	p.click("dialog", "New role", "button", "Cancel")
	p.click("button", "Members of Engineers")
	p.fill("nobody@example.com", "dialog", "Members of Engineers", "combobox", "Member")
	p.click("dialog", "Members of Engineers", "button", "Add")
	p.node("dialog", "Members of Engineers", "alert", "")
	p.fill("ben@example.com", "dialog", "Members of Engineers", "combobox", "Member")
	p.click("dialog", "Members of Engineers", "button", "Add")
	p.node("button", "Remove ben@example.com from Engineers")
	p.accessible()
	p.click("dialog", "Members of Engineers", "button", "Close")
	p.node("table", "Roles", "cell", "1 member")
	p.node("table", "Members", "cell", "Engineers")
	p.click("button", "Rename Engineers")
	p.fill("Builders", "dialog", "Rename Engineers", "textbox", "Name")
	p.click("dialog", "Rename Engineers", "button", "Save")
	p.click("switch", "New members get Builders")
	eventually(t, "a role for new members", func() bool {
		return js[bool](p, "document.querySelector('[role=switch]').getAttribute('aria-checked') === 'true'")
	})
	p.click("button", "Members of Builders")
	p.click("button", "Remove ben@example.com from Builders")
	p.waitAnnounced("Removed ben@example.com from Builders")
	p.click("dialog", "Members of Builders", "button", "Close")
	p.node("table", "Roles", "cell", "0 members")
	p.accessible()
	p.click("button", "Delete Builders")
	p.click("alertdialog", "Delete Builders?", "button", "Delete")
	p.waitRemoved("table", "Roles")
	var roles struct{ Count int }
	if s.api("GET", "/api/organizations/@current/roles/", nil, &roles); roles.Count != 0 {
		t.Errorf("there are %d roles", roles.Count)
	}
}

// Access rules (clients.md §11) of the project, of kinds of objects and of one object. Their effect
// is read from the API as that member.
func TestAccess(t *testing.T) {
	s := serve(t)
	s.banner()
	ben := s.acceptInvite("ben@example.com")
	status := func(method, path, body string) int {
		t.Helper()
		r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+ben.key)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		return got.StatusCode
	}
	const flag = "/api/projects/1/feature_flags/1/"
	rename := func() int { return status("PATCH", flag, `{"name": "Other"}`) }

	p := s.open(t, "p/1/settings")
	p.click("link", "Access")
	p.node("region", "Project", "button", "Add rule")
	p.waitRow("main", "owner@localhost Administrator Administrator of the organization")
	p.accessible()
	p.choose("Flags", "region", "Kinds of objects", "combobox", "What")
	p.choose("May view", "region", "Kinds of objects", "combobox", "Level")
	p.click("region", "Kinds of objects", "button", "Add rule")
	p.node("combobox", "Level of Everyone for Flags")
	p.choose("Flags", "region", "People with access", "combobox", "Access to")
	p.waitRow("main", "ben@example.com May view No rule names this person")
	if got := rename(); got != http.StatusForbidden {
		t.Errorf("a viewer's change: %d", got)
	}
	p.choose("ben@example.com", "region", "Project", "combobox", "Who")
	p.choose("No access", "region", "Project", "combobox", "Level")
	p.click("region", "Project", "button", "Add rule")
	p.node("combobox", "Level of ben@example.com")
	if got := status("GET", flag, ""); got != http.StatusForbidden {
		t.Errorf("without access to the project: %d", got)
	}
	p.accessible()
	p.click("button", "Remove the rule for ben@example.com")
	p.waitAnnounced("Removed the rule for ben@example.com")

	p.visit("p/1/flags/1")
	p.click("button", "More about banner")
	p.click("menuitem", "Access")
	p.waitRow("dialog", "ben@example.com May view No rule names this person")
	p.choose("ben@example.com", "dialog", "Access to banner", "combobox", "Who")
	p.choose("May edit", "dialog", "Access to banner", "combobox", "Level")
	p.click("dialog", "Access to banner", "button", "Add rule")
	p.waitRow("dialog", "ben@example.com May edit A rule for this person")
	p.accessible()
	if got := rename(); got != http.StatusOK {
		t.Errorf("an editor's change: %d", got)
	}
	p.choose("No access", "dialog", "Access to banner", "combobox", "Level of ben@example.com")
	eventually(t, "a flag that ben may not see", func() bool { return status("GET", flag, "") == http.StatusForbidden })
	p.click("dialog", "Access to banner", "button", "Close")

	// A member sees the rules, and who may change them. All tabs share the cookie of the session, so the
	// page of the hidden flag is left first.
	p.visit("p/1/settings/access")
	p.waitLoaded()
	q := ben.open(t, "p/1/settings/access")
	q.node("region", "Kinds of objects", "note", "")
	q.node("region", "Kinds of objects", "combobox", "Level of Everyone for Flags")
	q.waitLoaded()
	for _, name := range js[[]string](q, unexplainedControls) {
		t.Errorf("%q is disabled and does not say why", name)
	}
}

// dnsServer answers each query for a TXT record with one text.
type dnsServer struct {
	net.PacketConn
	text atomic.Value
}

func newDNSServer(t *testing.T) *dnsServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &dnsServer{PacketConn: conn}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		for buffer := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return // closed
			}
			end := 12 // of the question, after the header: a name, its type and its class
			for end < n && buffer[end] != 0 {
				end += int(buffer[end]) + 1
			}
			if end += 5; end > n {
				continue
			}
			text, _ := d.text.Load().(string)
			answer := append([]byte{buffer[0], buffer[1], 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0}, buffer[12:end]...)
			answer = append(answer, 0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 0) // the same name, TXT, IN, not cached
			answer = binary.BigEndian.AppendUint16(answer, uint16(len(text)+1))
			answer = append(append(answer, byte(len(text))), text...)
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	return d
}

// Domains (console.md §5.2, §3.9): a domain is verified by its TXT record; then the switches for
// joining and for single sign-on are enabled.
func TestOrganization_DomainSwitches(t *testing.T) {
	dns := newDNSServer(t)
	s := serve(t, "--dns-resolver", dns.LocalAddr().String())
	type domain struct {
		ID        string
		Challenge string `json:"verification_challenge"`
		Joins     bool   `json:"jit_provisioning_enabled"`
		SSO       string `json:"sso_enforcement"`
	}
	var made, got domain
	s.api("POST", "/api/organizations/@current/domains/", map[string]any{"domain": "example.com"}, &made)
	read := func() domain {
		s.api("GET", "/api/organizations/@current/domains/"+made.ID+"/", nil, &got)
		return got
	}
	const joins, only = "People of example.com join at their first sign-in", "People of example.com sign in with single sign-on only"
	p := s.open(t, "organization/domains")
	p.node("switch", joins)
	p.waitLoaded()
	for _, name := range js[[]string](p, unexplainedControls) {
		t.Errorf("%q is disabled and does not say why", name)
	}
	p.click("button", "Verify example.com")
	p.waitAnnounced("The TXT record was not found yet. DNS changes can take an hour.")
	dns.text.Store(made.Challenge)
	p.click("button", "Verify example.com")
	p.waitAnnounced("Verified")
	p.waitRemoved("button", "Verify example.com")
	p.click("switch", joins)
	eventually(t, "people join", func() bool { return read().Joins })
	p.accessible()
	p.click("switch", only)
	p.click("alertdialog", "Require single sign-on for example.com?", "button", "Cancel")
	p.click("switch", only)
	p.accessible()
	p.click("alertdialog", "Require single sign-on for example.com?", "button", "Require")
	eventually(t, "single sign-on is required", func() bool { return read().SSO == "oidc" })
	eventually(t, "a switch that is on", func() bool {
		return js[bool](p, "[...document.querySelectorAll('[role=switch]')].every(b => b.getAttribute('aria-checked') === 'true')")
	})
	p.click("switch", only)
	eventually(t, "single sign-on is not required", func() bool { return read().SSO == "" })
}

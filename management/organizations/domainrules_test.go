package organizations_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Domains follow §4.4.
func TestDomains_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{
		"fields": domainRows, "names": domainNameRows, "changes": changeDomainRows, "verification": verifyRows, "after verification": verifiedRows,
		"places": domainPlaceRows, "claims": claimRows,
	})
}

var domainRows = []ruletest.Row{
	{"§6 row 47", "bob", "domain", `{"domain":"example.com"}`, tooLow},
	{"§2.2", "gus", "domain", `{}`, `400 required domain This field is required.`},
	{"§2.2", "gus", "domain", `{"domain":null}`, `400 null domain This field may not be null.`},
	{"§2.2", "gus", "domain", `{"domain":""}`, `400 blank domain This field may not be blank.`},
	{"§6 row 50", "gus", "domain => it", `{"domain":"example.com","is_verified":true,"verified_at":"2020-01-01T00:00:00Z","verification_challenge":"mine","sso_enforcement":"saml","jit_provisioning_enabled":true}`,
		`{"id":"(like) ^[0-9a-f-]{36}$","domain":"example.com","is_verified":false,"verified_at":null,"verification_challenge":"(like) ^[0-9A-Za-z_-]{43}$","sso_enforcement":"","jit_provisioning_enabled":false,
		"has_saml":false,"saml_entity_id":null,"saml_acs_url":null,"saml_x509_cert":null}`},
	{"§6 row 49", "dan", "domain", `{"domain":"example.com"}`, `400 unique domain domain with this domain already exists.`},
	{"§6 row 49 one's own", "gus", "domain", `{"domain":"example.com"}`, `400 unique domain domain with this domain already exists.`},
	{"§4.4 SAML is kept", "gus", "domain", `{"domain":"a.example.com","saml_entity_id":"x","saml_acs_url":"y","saml_x509_cert":"z"}`, `{"has_saml":true,"saml_entity_id":"x","saml_acs_url":"y","saml_x509_cert":"z"}`},
	{"§4.4 has_saml: all three", "gus", "domain", `{"domain":"b.example.com","saml_entity_id":"x","saml_acs_url":"y"}`, `{"has_saml":false}`},
	{"§4.4 has_saml: not empty", "gus", "domain", `{"domain":"c.example.com","saml_entity_id":"x","saml_acs_url":"y","saml_x509_cert":""}`, `{"has_saml":false,"saml_x509_cert":""}`},
	{"§4.4 512 characters", "gus", "domain", `{"domain":"d.example.com","saml_entity_id":` + chars(512) + `}`, `{"saml_entity_id":` + chars(512) + `}`},
	{"§4.4 513 characters", "gus", "domain", `{"domain":"e.example.com","saml_entity_id":` + chars(513) + `}`, `400 max_length saml_entity_id Ensure this field has no more than 512 characters.`},
	{"§4.4 513 characters", "gus", "domain", `{"domain":"e.example.com","saml_acs_url":` + chars(513) + `}`, `400 max_length saml_acs_url Ensure this field has no more than 512 characters.`},
	{"§4.4 a long certificate", "gus", "domain", `{"domain":"e.example.com","saml_x509_cert":` + chars(5000) + `}`, `{"saml_x509_cert":` + chars(5000) + `}`},
	{"§4.4 read: any member", "bob", "getdomain <it>", ``, `{"domain":"example.com"}`},
	{"§3 by domain", "bob", "domains", ``, `{"count":6,"results":[{"domain":"a.example.com"},{"domain":"b.example.com"},{"domain":"c.example.com"},{"domain":"d.example.com"},{"domain":"e.example.com"},{"domain":"example.com"}]}`},
}

const badDomain = `400 invalid_input domain Please enter a valid domain or subdomain name.`

var domainNameRows = []ruletest.Row{
	{"§6 row 48", "gus", "domain", `{"domain":"Example.com"}`, badDomain},
	{"§4.4 one label", "gus", "domain", `{"domain":"example"}`, badDomain},
	{"§4.4 TLD of two letters", "gus", "domain", `{"domain":"example.c"}`, badDomain},
	{"§4.4 TLD of letters", "gus", "domain", `{"domain":"example.c0m"}`, badDomain},
	{"§4.4 hyphens inside", "gus", "domain", `{"domain":"-example.com"}`, badDomain},
	{"§4.4 hyphens inside", "gus", "domain", `{"domain":"example-.com"}`, badDomain},
	{"§4.4 single hyphens", "gus", "domain", `{"domain":"exa--mple.com"}`, badDomain},
	{"§4.4 no empty label", "gus", "domain", `{"domain":"example..com"}`, badDomain},
	{"§4.4 no dot at the end", "gus", "domain", `{"domain":"example.com."}`, badDomain},
	{"§4.4 no underscore", "gus", "domain", `{"domain":"ex_ample.com"}`, badDomain},
	{"§4.4 no address", "gus", "domain", `{"domain":"me@example.com"}`, badDomain},
	{"§4.4 no URL", "gus", "domain", `{"domain":"https://example.com"}`, badDomain},
	{"§4.4 labels of ASCII", "gus", "domain", `{"domain":"bücher.com"}`, badDomain},
	{"§4.4", "gus", "domain", `{"domain":"a-1.b.example.museum"}`, `{"domain":"a-1.b.example.museum"}`},
	{"§4.4 128 characters", "gus", "domain", `{"domain":"` + domainOf(128) + `"}`, `{"domain":"` + domainOf(128) + `"}`},
	{"§4.4 129 characters", "gus", "domain", `{"domain":"` + domainOf(129) + `"}`, `400 max_length domain Ensure this field has no more than 128 characters.`},
}

// domainOf returns a domain of n characters.
func domainOf(n int) string {
	name := ".example.com"
	for len(name) < n {
		if len(name)%20 == 0 && len(name) < n-1 {
			name = "." + name
		}
		name = "x" + name
	}
	return name
}

var changeDomainRows = []ruletest.Row{
	{"§4.4", "gus", "domain => it", `{"domain":"example.com"}`, `{"is_verified":false}`},
	{"§4.4", "gus", "domain", `{"domain":"taken.com"}`, `{"is_verified":false}`},
	{"§4.4 PATCH 8", "bob", "changedomain <it>", `{}`, tooLow},
	{"§6 row 51", "gus", "changedomain <it>", `{"jit_provisioning_enabled":false}`, `400 verification_required jit_provisioning_enabled This attribute cannot be updated until the domain is verified.`},
	{"§4.4 any value", "gus", "changedomain <it>", `{"sso_enforcement":""}`, `400 verification_required sso_enforcement This attribute cannot be updated until the domain is verified.`},
	{"§4.4 SAML before verification", "gus", "changedomain <it>", `{"saml_entity_id":"x"}`, `{"saml_entity_id":"x","has_saml":false}`},
	{"§4.4 SAML may be taken away", "gus", "changedomain <it>", `{"saml_entity_id":null}`, `{"saml_entity_id":null}`},
	{"A10 while unverified, full validation again", "gus", "changedomain <it>", `{"domain":"Example.org"}`, badDomain},
	{"A10 while unverified, full validation again", "gus", "changedomain <it>", `{"domain":"taken.com"}`, `400 unique domain domain with this domain already exists.`},
	{"A10 while unverified", "gus", "changedomain <it>", `{"domain":"example.org"}`, `{"id":"<it>","domain":"example.org"}`},
	{"A10 the old name is free", "dan", "domain", `{"domain":"example.com"}`, `{"domain":"example.com"}`},
	{"§4.4 read-only", "gus", "changedomain <it>", `{"is_verified":true,"verification_challenge":"x","has_saml":true}`, `{"is_verified":false,"has_saml":false,"verification_challenge":"(like) ^.{43}$"}`},
	{"§4.4 fixed at creation", "gus", "getdomain <it>", ``, `{"verification_challenge":"<it.verification_challenge>"}`},
	{"§2.5 PUT", "gus", "putdomain <it>", `{}`, `400 required domain This field is required.`},
	{"§2.5 PUT", "gus", "putdomain <it>", `{"domain":"example.net"}`, `{"domain":"example.net"}`},
	{"§4.4 unknown", "gus", "changedomain " + nowhere, `{}`, notFound},
	{"§4.4 DELETE 8", "bob", "dropdomain <it>", ``, tooLow},
	{"§4.4 DELETE", "gus", "dropdomain <it>", ``, `null`},
	{"§4.4 hard", "gus", "getdomain <it>", ``, notFound},
	{"§4.4 hard", "gus", "dropdomain <it>", ``, notFound},
	{"§4.4 hard: the name is free", "dan", "domain", `{"domain":"example.net"}`, `{"domain":"example.net"}`},
}

var verifyRows = []ruletest.Row{
	{"§4.4", "gus", "domain => it", `{"domain":"example.com"}`, `{"is_verified":false}`},
	{"§4.4 verify 8", "bob", "verify <it>", ``, tooLow},
	{"§6 row 52", "gus", "verify <it>", ``, `{"is_verified":false,"verified_at":null}`},
	{"§4.4 another value", "gus", "dns _posthog-challenge.example.com v=spf1 <it.verification_challenge>x", ``, `null`},
	{"§4.4 exact match", "gus", "verify <it>", ``, `{"is_verified":false}`},
	{"§4.4 at another host", "gus", "dns example.com <it.verification_challenge>", ``, `null`},
	{"§4.4 at another host", "gus", "verify <it>", ``, `{"is_verified":false}`},
	{"§4.4 any of the records", "gus", "dns _posthog-challenge.example.com v=spf1 <it.verification_challenge>", ``, `null`},
	{"§4.4 a resolver that fails is no record", "gus", "nodns SERVFAIL", ``, `null`},
	{"§4.4 a resolver that fails is no record", "gus", "verify <it>", ``, `{"is_verified":false}`},
	{"§4.4", "gus", "nodns", ``, `null`},
	{"§4.4 record found", "gus", "verify <it>", ``, `{"is_verified":true,"verified_at":"2026-01-02T12:00:12Z"}`},
	{"§6 row 53", "gus", "verify <it>", ``, `400 already_verified - This domain has already been verified.`},
	{"§4.4 never expires", "gus", "dns _posthog-challenge.example.com", ``, `null`},
	{"§4.4 never expires", "gus", "wait " + days(1000), ``, `null`},
	{"§4.4 never expires", "bob", "getdomain <it>", ``, `{"is_verified":true,"verified_at":"2026-01-02T12:00:12Z"}`},
	{"§4.4 unknown", "gus", "verify " + nowhere, ``, notFound},
	{"§4.4 no UUID", "gus", "verify example.com", ``, notFound},
}

var verifiedRows = []ruletest.Row{
	{"§4.4", "gus", "domain => it", `{"domain":"example.com"}`, `{"is_verified":false}`},
	{"§4.4", "gus", "dns _posthog-challenge.example.com <it.verification_challenge>", ``, `null`},
	{"§4.4", "gus", "verify <it>", ``, `{"is_verified":true}`},
	{"§5.11", "gus", "log organization OrganizationDomain <it>", ``, `{"activity":"updated","user":{"first_name":"gus"},"detail":{"changes":[{"field":"is_verified"},{"field":"verified_at"}]}}`},
	{"§4.4", "gus", "changedomain <it>", `{"jit_provisioning_enabled":true}`, `{"jit_provisioning_enabled":true}`},
	{"§4.4", "gus", "changedomain <it>", `{"sso_enforcement":"google-oauth2"}`, `{"sso_enforcement":"google-oauth2","jit_provisioning_enabled":true}`},
	{"§1.9 single sign-on is enforced for the address", "bob", "me", ``, `{"email":"bob@example.com","has_sso_enforcement":true}`},
	{"§5.11", "gus", "log organization OrganizationDomain <it>", ``, `{"activity":"updated","user":{"first_name":"gus"},"detail":{"name":"example.com","changes":[{"field":"sso_enforcement","before":null,"after":"google-oauth2"}]}}`},
	{"§4.4 28 characters", "gus", "changedomain <it>", `{"sso_enforcement":` + chars(28) + `}`, `{"sso_enforcement":` + chars(28) + `}`},
	{"§4.4 29 characters", "gus", "changedomain <it>", `{"sso_enforcement":` + chars(29) + `}`, `400 max_length sso_enforcement Ensure this field has no more than 28 characters.`},
	{"§4.4 not null", "gus", "changedomain <it>", `{"sso_enforcement":null}`, `400 null sso_enforcement This field may not be null.`},
	{"§4.4 off", "gus", "changedomain <it>", `{"sso_enforcement":""}`, `{"sso_enforcement":""}`},
	{"§1.9 not any more", "bob", "me", ``, `{"has_sso_enforcement":false}`},
	{"A10 silently ignored once verified", "gus", "changedomain <it>", `{"domain":"other.com"}`, `{"domain":"example.com","is_verified":true}`},
	{"A10 silently ignored once verified", "gus", "putdomain <it>", `{"domain":"Not A Name"}`, `{"domain":"example.com","is_verified":true}`},
	{"§4.4 DELETE", "gus", "dropdomain <it>", ``, `null`},
	{"§5.11", "gus", "log organization OrganizationDomain <it>", ``, `{"activity":"deleted","detail":{"name":"example.com"}}`},
	{"§4.4 a new one begins anew", "gus", "domain", `{"domain":"example.com"}`, `{"is_verified":false,"sso_enforcement":"","jit_provisioning_enabled":false}`},
}

var domainPlaceRows = []ruletest.Row{
	{"§4.4", "gus", "domain => ours", `{"domain":"ours.com"}`, `{"domain":"ours.com"}`},
	{"§4.4", "dan", "domain => theirs", `{"domain":"theirs.com"}`, `{"domain":"theirs.com"}`},
	{"§1.5 another organization's", "gus", "getdomain <theirs>", ``, notFound},
	{"§1.5 another organization's", "gus", "changedomain <theirs>", `{}`, notFound},
	{"§1.5 another organization's", "gus", "dropdomain <theirs>", ``, notFound},
	{"§1.5 another organization's", "gus", "verify <theirs>", ``, notFound},
	{"§4.4", "gus", "domains", ``, `{"count":1,"results":[{"domain":"ours.com"}]}`},
	{"§3", "gus", "domain", `{"domain":"also.com"}`, `{"domain":"also.com"}`},
	{"§3 limit and offset", "bob", "domains", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"domain":"ours.com"}]}`},
	{"§3 beyond the end", "bob", "domains", `{"Limit":1,"Offset":2}`, `{"count":2,"results":[]}`},
}

// An unverified domain is reserved for its organization during domainClaim, 30 days.
var claimRows = []ruletest.Row{
	{"§4.4", "gus", "domain => it", `{"domain":"example.com"}`, `{"is_verified":false}`},
	{"30 days", "gus", "wait 719h59m58s", ``, `null`},
	{"a claim of 30 days holds", "dan", "domain", `{"domain":"example.com"}`, `400 unique domain domain with this domain already exists.`},
	{"an older one does not", "dan", "domain => theirs", `{"domain":"example.com"}`, `{"domain":"example.com"}`},
	{"and is gone", "gus", "getdomain <it>", ``, notFound},
	{"§4.4", "dan", "dns _posthog-challenge.example.com <theirs.verification_challenge>", ``, `null`},
	{"§4.4 one that is proven holds for good", "dan", "verify <theirs>", ``, `{"is_verified":true}`},
	{"§4.4 one that is proven holds for good", "dan", "wait " + days(400), ``, `null`},
	{"§4.4 one that is proven holds for good", "gus", "domain", `{"domain":"example.com"}`, `400 unique domain domain with this domain already exists.`},
	{"a change does not prolong a claim", "gus", "domain => other", `{"domain":"other.com"}`, `{"is_verified":false}`},
	{"a change does not prolong a claim", "gus", "wait " + days(20), ``, `null`},
	{"a change does not prolong a claim", "gus", "changedomain <other>", `{"saml_entity_id":"x"}`, `{"is_verified":false}`},
	{"a change does not prolong a claim", "gus", "wait " + days(11), ``, `null`},
	{"a change does not prolong a claim", "dan", "domain", `{"domain":"other.com"}`, `{"domain":"other.com"}`},
}

// Without a Resolver no domain becomes verified, and verifying is not an error.
func TestDomains_NoResolver(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	w.Organizations.Resolver = nil
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§4.4", "gus", "domain => it", `{"domain":"example.com"}`, `{"is_verified":false}`},
		{"§4.4", "gus", "dns _posthog-challenge.example.com <it.verification_challenge>", ``, `null`},
		{"§4.4", "gus", "verify <it>", ``, `{"is_verified":false}`},
	})
}

package httpapi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
)

var base64url = base64.RawURLEncoding

// authenticator is an authenticator with real signatures (WebAuthn §6), which can deviate from the
// behavior of a browser.
type authenticator struct {
	key          *ecdsa.PrivateKey
	id, user     []byte
	count        uint32
	origin, site string
	verified     bool
}

func newAuthenticator(t *testing.T, origin string) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &authenticator{key: key, id: []byte("credential " + t.Name()), origin: origin, site: "localhost", verified: true}
}

func (a *authenticator) clientData(kind, challenge string) []byte {
	text, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	return text
}

// data returns the signed authenticator data: hash of the site, flags, counter, and for a new
// passkey its key.
func (a *authenticator) data(withCredential bool) []byte {
	hash := sha256.Sum256([]byte(a.site))
	flags := byte(0x01)
	if a.verified {
		flags |= 0x04
	}
	if withCredential {
		flags |= 0x40
	}
	out := binary.BigEndian.AppendUint32(append(hash[:], flags), a.count)
	if !withCredential {
		return out
	}
	out = append(binary.BigEndian.AppendUint16(append(out, make([]byte, 16)...), uint16(len(a.id))), a.id...)
	point, _ := a.key.PublicKey.Bytes() // 4, x, y
	public, _ := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	return append(out, public...)
}

func (a *authenticator) answer(response map[string]any) string {
	for name, v := range response {
		response[name] = base64url.EncodeToString(v.([]byte))
	}
	text, _ := json.Marshal(map[string]any{
		"id": base64url.EncodeToString(a.id), "rawId": base64url.EncodeToString(a.id), "type": "public-key",
		"clientExtensionResults": map[string]any{}, "response": response,
	})
	return string(text)
}

func (a *authenticator) create(challenge string) string {
	attestation, _ := cbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": a.data(true)})
	return a.answer(map[string]any{"clientDataJSON": a.clientData("webauthn.create", challenge), "attestationObject": attestation})
}

func (a *authenticator) get(challenge string) string {
	a.count++
	client, data := a.clientData("webauthn.get", challenge), a.data(false)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, _ := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	return a.answer(map[string]any{"clientDataJSON": client, "authenticatorData": data, "signature": signature, "userHandle": a.user})
}

// passkeySite is an office with a host name.
type passkeySite struct {
	*office
	t      *testing.T
	host   string
	cookie string
}

func newPasskeySite(t *testing.T) *passkeySite {
	o := newOffice(t, "sqlite::memory:")
	return &passkeySite{o, t, "localhost:" + o.URL[strings.LastIndexByte(o.URL, ':')+1:], o.ownerSession(t)}
}

// requestChallenge returns the challenge of a path.
func (p *passkeySite) requestChallenge(path, cookie string) (challenge string, user []byte) {
	p.t.Helper()
	_, body := p.visits(p.t, p.Server, visit{request: "POST /api/" + path, cookie: cookie, host: p.host})
	var options struct {
		PublicKey struct {
			Challenge string
			User      struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(body), &options); err != nil || options.PublicKey.Challenge == "" {
		p.t.Fatalf("%s: %s %v", path, body, err)
	}
	user, err := base64url.DecodeString(options.PublicKey.User.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	return options.PublicKey.Challenge, user
}

// register creates a passkey for the user of a session.
func (p *passkeySite) register(a *authenticator, cookie string) {
	p.t.Helper()
	challenge, user := p.requestChallenge("passkeys/options/", cookie)
	a.user = user
	p.wantResponse(p.t, visit{request: "POST /api/passkeys/", cookie: cookie, host: p.host, body: `{"name": "laptop", "passkey": ` + a.create(challenge) + `}`}, 201, `"name":"laptop"`)
}

// enter signs in with an assertion and checks the response.
func (p *passkeySite) enter(answer string, status int, part string) {
	p.t.Helper()
	p.wantResponse(p.t, visit{request: "POST /api/session/", host: p.host, body: `{"passkey": ` + answer + `}`}, status, part)
}

func (p *passkeySite) challenge() string {
	p.t.Helper()
	text, _ := p.requestChallenge("session/passkey/", "")
	return text
}

// console.md §5.2, Passkey, and N4: a passkey is sufficient to sign in and to reauthenticate; its
// name can be changed, and it is invalid after its removal.
func TestPasskeys_SignIn(t *testing.T) {
	p := newPasskeySite(t)
	a := newAuthenticator(t, "http://"+p.host)
	p.wantResponse(t, visit{request: "GET /api/session/methods/", host: p.host}, 200, `"passkey":true`)
	p.register(a, p.cookie)
	p.enter(a.get(p.challenge()), 201, `"method":"passkey"`)
	p.wantResponse(t, visit{request: "POST /api/session/proof/", cookie: p.cookie, host: p.host, body: `{"passkey": ` + a.get(p.challenge()) + `}`}, 201, `"owner@example.com"`)
	cookie := p.ownerSession(t)
	var list struct{ Results []struct{ ID, UsedAt string } }
	_, body := p.visits(t, p.Server, visit{request: "GET /api/passkeys/", cookie: cookie, host: p.host})
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Results) != 1 || !strings.Contains(body, `"used_at":"20`) || strings.Contains(body, "redential") {
		t.Fatal(err, body)
	}
	path := "/api/passkeys/" + list.Results[0].ID + "/"
	p.wantResponse(t, visit{request: "PATCH " + path, cookie: cookie, host: p.host, body: `{"name": "phone"}`}, 200, `"name":"phone"`)
	p.wantResponse(t, visit{request: "PATCH " + path, cookie: cookie, host: p.host, body: `{"name": ""}`}, 400, `"blank"`)
	p.wantResponse(t, visit{request: "DELETE " + path, cookie: p.newSession(t, `{"key": "`+p.key(t, "member")+`"}`), host: p.host}, 404, "")
	p.wantResponse(t, visit{request: "DELETE " + path, cookie: cookie, host: p.host}, 204, "")
	p.wantResponse(t, visit{request: "DELETE " + path, cookie: cookie, host: p.host}, 404, "")
	p.enter(a.get(p.challenge()), 401, "not registered here")
}

// console.md §5.2, Passkey: user verification is required, counters are checked; an assertion is
// valid for one challenge, one site and one origin, once, within five minutes.
func TestPasskeys_Attacks(t *testing.T) {
	p := newPasskeySite(t)
	a := newAuthenticator(t, "http://"+p.host)
	p.register(a, p.cookie)
	once := a.get(p.challenge())
	p.enter(once, 201, "")
	p.enter(once, 401, "not requested")
	p.enter(a.get(base64url.EncodeToString(make([]byte, 32))), 401, "not requested")
	late := p.challenge()
	p.wait(5 * time.Minute)
	p.enter(a.get(late), 401, "not requested")
	own, _ := p.requestChallenge("passkeys/options/", p.ownerSession(t))
	p.enter(a.get(own), 401, "not requested")

	for name, change := range map[string]func(*authenticator){
		"another origin":     func(a *authenticator) { a.origin = "https://evil.example" },
		"another site":       func(a *authenticator) { a.site = "evil.example" },
		"another key":        func(a *authenticator) { a.key = newAuthenticator(t, "").key },
		"another user":       func(a *authenticator) { a.user = []byte("somebody") },
		"nobody verified":    func(a *authenticator) { a.verified = false },
		"a copy counts less": func(a *authenticator) { a.count = 0 },
		"another credential": func(a *authenticator) { a.id = []byte("another") },
	} {
		other := *a
		change(&other)
		res, body := p.visits(t, p.Server, visit{request: "POST /api/session/", host: p.host, body: `{"passkey": ` + other.get(p.challenge()) + `}`})
		if res.StatusCode != 401 || !strings.Contains(body, "not registered here") {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
	}
	a.count += 10
	p.enter(a.get(p.challenge()), 201, "")

	for _, text := range []string{`{}`, `{"rawId": 7}`, `{"rawId": "AA", "response": {}}`, `{"rawId": "AA", "response": {"clientDataJSON": "e30"}}`, `{"response": {"clientDataJSON": "W10"}}`, strings.Replace(a.get(p.challenge()), `"authenticatorData":"`, `"authenticatorData":"AAAA`, 1)} {
		p.enter(text, 401, "authentication_failed")
	}
	p.enter(`"text"`, 400, "not_a_dict")
	p.wantResponse(t, visit{request: "POST /api/session/", host: p.host, body: `{"passkey": {}, "key": "k"}`}, 400, "one of link")
}

// A passkey can only be registered by the user who requested it, after reauthentication, and at a
// host name instead of an IP address.
func TestPasskeys_Registration(t *testing.T) {
	p := newPasskeySite(t)
	a := newAuthenticator(t, "http://"+p.host)
	member := p.newSession(t, `{"key": "`+p.key(t, "member")+`"}`)
	challenge, user := p.requestChallenge("passkeys/options/", p.cookie)
	a.user = user
	registration := `{"name": "laptop", "passkey": ` + a.create(challenge) + `}`
	p.wantResponse(t, visit{request: "POST /api/passkeys/", cookie: member, host: p.host, body: registration}, 400, "passkey")
	p.wantResponse(t, visit{request: "POST /api/passkeys/", cookie: p.cookie, host: p.host, body: `{"name": "laptop", "passkey": {}}`}, 400, "passkey")
	p.wantResponse(t, visit{request: "POST /api/passkeys/", cookie: p.cookie, host: p.host, body: registration}, 201, "")
	p.wantResponse(t, visit{request: "POST /api/passkeys/", cookie: p.cookie, host: p.host, body: registration}, 400, "passkey")
	p.registerAgain(a)
	for _, host := range []string{"", "127.0.0.1:1", "[::1]:1"} {
		p.wantResponse(t, visit{request: "GET /api/session/methods/", host: host}, 200, `"passkey":false`)
		p.wantResponse(t, visit{request: "POST /api/session/passkey/", host: host}, 409, "HTTPS or http://localhost")
	}
	p.wait(10 * time.Minute)
	p.wantResponse(t, visit{request: "POST /api/passkeys/options/", cookie: p.cookie, host: p.host}, 403, "proof_required")
}

// registerAgain registers the passkey of an authenticator a second time.
func (p *passkeySite) registerAgain(a *authenticator) {
	p.t.Helper()
	challenge, _ := p.requestChallenge("passkeys/options/", p.cookie)
	p.wantResponse(p.t, visit{request: "POST /api/passkeys/", cookie: p.cookie, host: p.host, body: `{"name": "again", "passkey": ` + a.create(challenge) + `}`}, 400, `"unique"`)
}

package sdk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Scripts are the files of a PosthogJS.
type Scripts struct {
	folder *os.Root
	mu     sync.Mutex
	tags   map[string]scriptTag // at most maxScriptTags entries
}

// scriptTag is the ETag of a file with a given size and times.
type scriptTag struct {
	size              int64
	modified, changed time.Time
	tag               string
}

const (
	maxScript     = 8 << 20
	maxScriptTags = 1000
	// mainScript is the script that the snippet loads.
	mainScript = "array.js"
	// exactAge is the cache lifetime, in seconds, of a script whose URL has an exact version;
	// looseAge is that of other scripts.
	exactAge, looseAge = 31_536_000, 300
)

// noPosthogJS is the response for scripts if there is no copy. It logs a warning once per page.
const noPosthogJS = `(function(w){if(w.__bunting_no_posthog_js)return;w.__bunting_no_posthog_js=true;w.console&&w.console.warn("` +
	`Bunting has no copy of posthog-js, so the HTML snippet, and scripts that posthog-js loads when it needs them, do nothing. ` +
	`Either start the server with --posthog-js package/dist, after: npm pack posthog-js && tar xzf posthog-js-*.tgz. ` +
	`Or install posthog-js from npm and import posthog-js/dist/module.full.no-external.js, which needs nothing from the server.` +
	`")})(window);` + "\n"

// OpenScripts opens a folder for OpenPosthogJS.
func OpenScripts(path string) (*Scripts, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	p := &Scripts{folder: root, tags: map[string]scriptTag{}}
	f, _, err := p.open(mainScript)
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("%s has no %s: give the folder package/dist that npm pack posthog-js && tar xzf posthog-js-*.tgz creates", path, mainScript)
	}
	return p, f.Close()
}

// Close closes the folder.
func (p *Scripts) Close() error { return p.folder.Close() }

// scriptName matches the names of files that may be served. It allows no folders and no hidden
// files.
var scriptName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.js(\.map)?$`)

// exactVersion matches a version that identifies one release; anyVersion also matches a range of
// releases, such as 1.
var (
	exactVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]{1,40})?$`)
	anyVersion   = regexp.MustCompile(`^[0-9][0-9A-Za-z.-]{0,63}$`)
)

// open opens a file in the folder. The error is fs.ErrNotExist for files that are not served.
// Links that lead out of the folder are not followed.
func (p *Scripts) open(name string) (*os.File, fs.FileInfo, error) {
	if !scriptName.MatchString(name) {
		return nil, nil, fs.ErrNotExist
	}
	// Opening some kinds of files, such as pipes, would block.
	info, err := p.folder.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return nil, nil, fs.ErrNotExist
	}
	f, err := p.folder.Open(name)
	if err != nil {
		return nil, nil, fs.ErrNotExist
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// tag returns the ETag of an open file. It reads the file if there is no cached ETag for it.
func (p *Scripts) tag(name string, f *os.File, info fs.FileInfo) (string, error) {
	p.mu.Lock()
	cached, ok := p.tags[name]
	p.mu.Unlock()
	if ok && cached.size == info.Size() && cached.modified.Equal(info.ModTime()) && cached.changed.Equal(wire.ChangeTime(info)) {
		return cached.tag, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxScript)); err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	cached = scriptTag{info.Size(), info.ModTime(), wire.ChangeTime(info), `W/"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tags) < maxScriptTags || ok {
		p.tags[name] = cached
	}
	return cached.tag, nil
}

// ScriptEndpoints returns the endpoints for the scripts, which are always served.
func (s *Service) ScriptEndpoints() []frame.Endpoint {
	return slices.Concat(
		frame.Serving(frame.ForBrowser, "/array/{token}/array.js", frame.Methods{"GET": s.getArrayScript}),
		frame.Serving(frame.ForBrowser, "/static/{file}", frame.Methods{"GET": s.getScript}),
		frame.Serving(frame.ForBrowser, "/static/{version}/{file}", frame.Methods{"GET": s.getScript}),
	)
}

// getScript serves /static/:file, and /static/:version/:file.
func (s *Service) getScript(w http.ResponseWriter, r *http.Request) error {
	version, exact := frame.PathValue(r, "version"), false
	switch {
	case version != "" && !anyVersion.MatchString(version):
		return &problem.NotFound
	case version == "": // requests of older clients
		exact = exactVersion.MatchString(r.URL.Query().Get("v"))
	default:
		exact = exactVersion.MatchString(version)
	}
	return s.script(w, r, frame.PathValue(r, "file"), exact)
}

// getArrayScript serves /array/:token/array.js, which is the same for all tokens.
func (s *Service) getArrayScript(w http.ResponseWriter, r *http.Request) error {
	if !frame.IsConfigToken(frame.PathValue(r, "token")) {
		return &problem.NotFound
	}
	return s.script(w, r, mainScript, false)
}

// script serves a file of the copy. exact reports that the URL identifies one release, so that
// the file never changes.
func (s *Service) script(w http.ResponseWriter, r *http.Request, name string, exact bool) error {
	if s.scripts == nil {
		if !scriptName.MatchString(name) {
			return &problem.NotFound
		}
		noScript(w)
		return nil
	}
	f, info, err := s.scripts.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return problem.NotFound.With("The copy of posthog-js that this server was given has no such file.", "")
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	tag, err := s.scripts.tag(name, f, info)
	if err != nil {
		return err
	}
	kind, caching := javascript, "public, max-age="+strconv.Itoa(looseAge)
	if strings.HasSuffix(name, ".map") {
		kind = "application/json"
	}
	if exact {
		caching = "public, max-age=" + strconv.Itoa(exactAge) + ", immutable"
	}
	scriptHeaders(w.Header(), kind, caching)
	w.Header().Set("ETag", tag)
	if r.Method == http.MethodHead { // HEAD has the headers of GET, even if the response to GET is compressed
		get := *r
		get.Method, r = http.MethodGet, &get
	}
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

const javascript = "application/javascript; charset=utf-8"

func scriptHeaders(h http.Header, kind, caching string) {
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", caching)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// noScript responds for a missing copy. The response must not be cached, since a copy may be
// configured later.
func noScript(w http.ResponseWriter) {
	scriptHeaders(w.Header(), javascript, "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(noPosthogJS)))
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, noPosthogJS)
}

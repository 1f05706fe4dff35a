package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// streamSilence is how long a stream may be silent. The server sends a comment every 15 seconds.
	streamSilence = time.Minute
	// maxMessage is the maximum size of a message of a stream, in bytes.
	maxMessage = maxAnswer
)

// streamMessage is a message of a stream of server-sent events.
type streamMessage struct {
	event string
	data  json.RawMessage
}

// eventStream is an open stream of server-sent events.
type eventStream struct {
	response *http.Response
	in       *bufio.Reader
	silence  *time.Timer // ends the request after streamSilence
	cancel   context.CancelFunc
	retry    time.Duration // the pause before the next connection, as the server requests it
}

// openStream opens a stream, without retries. after is the pause that the server requests if it
// refuses the request.
func (c *apiClient) openStream(ctx context.Context, path string) (s *eventStream, after time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("User-Agent", "bunting/"+cli.ReadBuild().Version)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.key)
	endless := *c.http
	endless.Timeout = 0 // which would include the body
	silence := time.AfterFunc(streamSilence, cancel)
	w, err := endless.Do(r)
	if err != nil {
		silence.Stop()
		return nil, 0, err
	}
	c.hasAnswered = true
	if w.StatusCode == http.StatusOK {
		return &eventStream{response: w, in: bufio.NewReader(w.Body), silence: silence, cancel: cancel}, 0, nil
	}
	defer func() { _ = w.Body.Close() }()
	silence.Stop()
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.NewDecoder(io.LimitReader(w.Body, maxAnswer)).Decode(&problem) // errors of other servers may not be JSON
	return nil, wire.RetryAfter(w.Header.Get("Retry-After"), w.Header.Get("Date"), time.Now()), &apiError{w.StatusCode, problem.Detail}
}

func (s *eventStream) close() {
	s.silence.Stop()
	s.cancel()
	_ = s.response.Body.Close()
}

// The errors of a stream that the server has ended, and of one that was silent.
var (
	errStreamEnd    = errors.New("the server has closed it")
	errStreamSilent = fmt.Errorf("nothing came for %s", streamSilence)
)

// next returns the next message. It is an error if the stream ends, is silent for streamSilence, or
// sends a message of more than maxMessage bytes.
func (s *eventStream) next() (*streamMessage, error) {
	m, size := &streamMessage{}, 0
	for {
		line, err := s.line(maxMessage - size)
		if err != nil {
			return nil, err
		}
		s.silence.Reset(streamSilence)
		size += len(line)
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			m.event = string(value)
		case "data":
			if m.data != nil {
				m.data = append(m.data, '\n')
			}
			m.data = append(m.data, value...)
		case "retry":
			if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 {
				s.retry = min(time.Duration(n)*time.Millisecond, maxPause)
			}
		}
		if len(line) == 0 { // a blank line ends a message
			if m.data != nil {
				return m, nil
			}
			m, size = &streamMessage{}, 0
		}
	}
}

// line reads a line of at most limit bytes, without its end.
func (s *eventStream) line(limit int) ([]byte, error) {
	var out []byte
	for {
		part, err := s.in.ReadSlice('\n')
		if len(out)+len(part) > limit {
			return nil, fmt.Errorf("a message has more than %d MiB", maxMessage>>20)
		}
		out = append(out, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(out, "\r\n"), nil
		case errors.Is(err, io.EOF):
			return nil, errStreamEnd
		case errors.Is(err, context.Canceled):
			return nil, errStreamSilent
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

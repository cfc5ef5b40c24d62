// Package uploads keeps what editors of erupt's front ends upload to the server itself: pictures in a text, which no field of a
// node's page takes (erupt-wire 3.6). It takes pictures only, and gives them to whoever has a session.
package uploads

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// Dir is the first segment of the paths of these files below /erupt-attachment.
const Dir = "_server" // proxy.OwnFiles, which may not be imported here

// Sessions find sessions.
type Sessions interface {
	Get(ctx context.Context, token string, codes ...string) (access.Session, []bool, error)
}

// Options of New.
type Options struct {
	Folder   string // empty: there is none that all replicas share, and nothing is taken
	MaxFile  int64  // bytes of one file
	MaxTotal int64  // bytes of all
	// MaxAccount are the bytes of one account; 0: a tenth of MaxTotal, one file at least.
	MaxAccount int64
	Sessions   Sessions
	// Token returns the session token by which a browser asks for a file, from wherever it can send one; Query says whether it
	// may stand in the address.
	Token  func(*http.Request) string
	Query  bool
	Audit  interface{ Record(e access.Entry) }
	Fail   func(http.ResponseWriter, *http.Request, error)
	Logger *slog.Logger
	Now    func() time.Time
}

// Store answers uploads and requests for what was uploaded.
type Store struct {
	o     Options
	pace  *web.Limiter
	mu    sync.Mutex
	total int64            // bytes in the folder
	owned map[string]int64 // of them, by owner; nil: not yet counted
}

// New returns a Store. The folder is made when the first file comes.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Store{o: o, pace: web.NewLimiter(1, 20, 10_000, o.Now)}
}

// Owns reports whether a path is the store's to answer.
func Owns(path string) bool {
	return path == wire.NodeAPI+"/file/upload-editor" || path == wire.NodeAPI+"/file/upload-html-editor" ||
		strings.HasPrefix(path, wire.AttachmentDir+"/"+Dir+"/")
}

// ServeHTTP implements http.Handler.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, wire.AttachmentDir+"/") {
		if err := s.serve(w, r); err != nil {
			s.o.Fail(w, r, err)
		}
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		s.o.Fail(w, r, fault.New(fault.NotAllowed, "%s is not possible here", r.Method))
		return
	}
	in, err := s.session(r, s.sent(r))
	if err != nil {
		s.o.Fail(w, r, err)
		return
	}
	s.answer(w, r, in)
}

// sent is the token of who uploads, in the header or where the editors put it. A cookie does not count: any page of the
// browser could make it send one.
func (s *Store) sent(r *http.Request) string {
	if t := web.HeaderToken(r); t != "" || !s.o.Query {
		return t
	}
	return r.URL.Query().Get("_token")
}

func (s *Store) session(r *http.Request, token string) (access.Session, error) {
	if token == "" {
		return access.Session{}, fault.New(fault.Unauthenticated, "log in first")
	}
	in, _, err := s.o.Sessions.Get(r.Context(), token)
	return in, err
}

// answer takes one file and answers as CKEditor's upload adapter reads it, refusals with their status besides.
func (s *Store) answer(w http.ResponseWriter, r *http.Request, in access.Session) {
	var said struct {
		Uploaded bool   `json:"uploaded"`
		URL      string `json:"url,omitempty"`
		State    string `json:"state"`
		Error    *struct {
			Message string `json:"message"`
		} `json:"error,omitempty"`
	}
	path, size, err := s.take(w, r, in)
	s.record(r, in, path, size, err)
	status := http.StatusOK
	if err == nil {
		said.Uploaded, said.URL, said.State = true, web.Base(r)+wire.AttachmentDir+"/"+path, "SUCCESS"
	} else {
		f := fault.Of(err)
		said.State = web.Message(r, f)
		said.Error = &struct {
			Message string `json:"message"`
		}{said.State}
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)+1))
		}
		if status = f.Code.Status(); status >= http.StatusInternalServerError {
			s.o.Logger.ErrorContext(r.Context(), "an upload of an editor was not kept", "error", err, "request_id", web.RequestID(r.Context()))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(said) // a client that is gone needs no answer
}

func (s *Store) record(r *http.Request, in access.Session, path string, size int64, err error) {
	e := access.Entry{
		At: s.o.Now(), User: in.Name, Account: in.Account, Address: web.ClientIP(r), Action: "file.upload", Subject: path,
		Method: r.Method, URL: r.URL.Path, OK: err == nil, RequestID: web.RequestID(r.Context()),
	}
	e.Params, _ = json.Marshal(map[string]int64{"bytes": size}) // a number
	if err != nil {
		e.Error = fault.Of(err).Message()
	}
	s.o.Audit.Record(e)
}

// kinds are the pictures that a browser shows without running anything, by what their bytes say.
var kinds = map[string]string{"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/bmp": "bmp"}

// take keeps the file of a form and returns its path below /erupt-attachment.
func (s *Store) take(w http.ResponseWriter, r *http.Request, in access.Session) (path string, size int64, err error) {
	if s.o.Folder == "" {
		return "", 0, fault.New(fault.Unavailable, "pictures of editors need a folder that all replicas share: set uploads.dir")
	}
	if ok, retry := s.pace.Allow(in.Account); !ok {
		return "", 0, web.TooFast(retry)
	}
	part, err := s.file(w, r)
	if err != nil {
		return "", 0, err
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(part, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", 0, unreadable(err)
	}
	ending, ok := kinds[http.DetectContentType(head[:n])]
	if !ok {
		return "", 0, fault.New(fault.Invalid, "only pictures can be put here: PNG, JPEG, GIF, WebP or BMP")
	}
	owner := ownerOf(in.Account)
	name := filepath.Join(s.o.Now().UTC().Format(time.DateOnly), rand.Text()[:22]+"-"+owner+"."+ending)
	size, err = s.write(owner, name, io.MultiReader(strings.NewReader(string(head[:n])), part))
	return Dir + "/" + filepath.ToSlash(name), size, err
}

// formOverhead is what a form may have besides its file, in bytes.
const formOverhead = 64 << 10

// file finds the form's file: erupt calls it upload, further editors file.
func (s *Store) file(w http.ResponseWriter, r *http.Request) (*multipart.Part, error) {
	r.Body = http.MaxBytesReader(w, r.Body, s.o.MaxFile+formOverhead)
	form, err := r.MultipartReader()
	if err != nil {
		return nil, fault.New(fault.Invalid, "a form with a file is expected here").Because(err)
	}
	for range 10 {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, unreadable(err)
		}
		if name := part.FormName(); (name == "upload" || name == "file") && part.FileName() != "" {
			return part, nil
		}
	}
	return nil, fault.New(fault.Invalid, "the form has no file")
}

func unreadable(err error) error {
	if f := web.BodyFault(err); fault.CodeOf(f) != fault.Internal {
		return f
	}
	return fault.New(fault.Invalid, "the form cannot be read").Because(err)
}

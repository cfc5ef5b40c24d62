package uploads

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"eruptcloud/app/fault"
	"eruptcloud/nodeagent/wire"
)

// write keeps a file under its name, whole or not at all.
func (s *Store) write(name string, body io.Reader) (int64, error) {
	if err := s.room(); err != nil {
		return 0, err
	}
	root, err := s.open(filepath.Dir(name))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	draft := name + ".part"
	out, err := root.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, notKept(err)
	}
	size, err := io.Copy(out, io.LimitReader(body, s.o.MaxFile+1))
	if closed := out.Close(); err == nil && closed != nil {
		err = notKept(closed)
	} else if err != nil {
		err = unreadable(err)
	}
	if err == nil && size > s.o.MaxFile {
		err = fault.New(fault.TooLarge, "the upload is larger than %d bytes", s.o.MaxFile)
	}
	if err == nil {
		if moved := root.Rename(draft, name); moved != nil {
			err = notKept(moved)
		}
	}
	if err != nil {
		_ = root.Remove(draft) // what is left of it is not counted and not served
		return size, err
	}
	s.mu.Lock()
	s.total += size
	s.mu.Unlock()
	return size, nil
}

func notKept(err error) error {
	return fault.New(fault.Unavailable, "the file cannot be kept").Because(err)
}

// open opens the folder and makes it and its day where they are missing.
func (s *Store) open(day string) (*os.Root, error) {
	if err := os.MkdirAll(filepath.Join(s.o.Folder, day), 0o700); err != nil {
		return nil, notKept(err)
	}
	root, err := os.OpenRoot(s.o.Folder)
	if err != nil {
		return nil, notKept(err)
	}
	return root, nil
}

// room refuses a file when the folder is full. What other replicas put there counts from the next start.
func (s *Store) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total < 0 {
		s.total = 0
		err := filepath.WalkDir(s.o.Folder, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				s.total += info.Size()
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.total = -1
			return notKept(fmt.Errorf("count what is there: %w", err))
		}
	}
	if s.total >= s.o.MaxTotal {
		return fault.New(fault.Unavailable, "the folder of uploads is full: %d bytes are kept, %d may be", s.total, s.o.MaxTotal)
	}
	return nil
}

// kept are the paths that this store gave out; nothing else in the folder is served.
var kept = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}/[A-Z2-7]{22}\.(png|jpg|gif|webp|bmp)$`)

// serve answers GET /erupt-attachment/_server/DAY/NAME.
func (s *Store) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return fault.New(fault.NotAllowed, "%s is not possible here", r.Method)
	}
	if _, err := s.session(r, s.o.Token(r)); err != nil {
		return err
	}
	missing := fault.New(fault.NotFound, "there is no such file")
	name := strings.TrimPrefix(r.URL.Path, wire.AttachmentDir+"/"+Dir+"/")
	if s.o.Folder == "" || !kept.MatchString(name) {
		return missing
	}
	root, err := os.OpenRoot(s.o.Folder)
	if err != nil {
		return missing.Because(err)
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return missing.Because(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return missing.Because(err)
	}
	h := w.Header()
	for kind, ending := range kinds {
		if strings.HasSuffix(name, "."+ending) {
			h.Set("Content-Type", kind)
		}
	}
	h.Set("Cache-Control", "private, max-age=86400") // names are never used twice
	h.Set("ETag", `"`+filepath.Base(name)+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", info.ModTime(), file)
	return nil
}

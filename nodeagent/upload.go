package nodeagent

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	fileSeparator  = "|"
	maxUploadParts = 100
	sniffLength    = 512
)

var (
	extension    = regexp.MustCompile(`^[a-z0-9]{1,10}$`)
	uploadedPath = regexp.MustCompile(`^/[0-9]{4}-[0-9]{2}-[0-9]{2}/[A-Za-z0-9]{20}(\.[a-z0-9]{1,10})?$`)
	pictureTypes = map[string]string{"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
)

// uploads keeps files below one directory, under names of its own: /2026-11-29/ and twenty random letters.
type uploads struct {
	dir   string
	limit int64 // of a file whose field states none
	now   func() time.Time
}

func extensionOf(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}

// accepts reports whether a file of that name may be one of the field's.
func (f Files) accepts(name string) bool {
	ext := extensionOf(name)
	if f.Images && pictureTypes[ext] == "" {
		return false
	}
	return len(f.Extensions) == 0 || slices.Contains(f.Extensions, ext)
}

// most returns how many bytes a file of the field may have, -1 for any number.
func (f Files) most(fallback int64) int64 {
	switch {
	case f.MaxKB < 0:
		return -1
	case f.MaxKB > 0:
		return f.MaxKB << 10
	}
	return fallback
}

// tooLarge is a file over the field's limit.
type tooLargeError struct{ most int64 }

func (e *tooLargeError) Error() string { return fmt.Sprintf("file is larger than %d bytes", e.most) }

var errNotAPicture = errors.New("file is not a picture")

// save streams a file to the disk and returns its path. A file that is not finished leaves nothing behind.
func (u *uploads) save(name string, content io.Reader, f Files) (stored string, err error) {
	if err := os.MkdirAll(u.dir, 0o750); err != nil {
		return "", fmt.Errorf("upload directory: %w", err)
	}
	root, err := os.OpenRoot(u.dir) // nothing below can lead out of it
	if err != nil {
		return "", fmt.Errorf("upload directory: %w", err)
	}
	defer root.Close()
	day := u.now().Format(dayLayout)
	if err := root.Mkdir(day, 0o750); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("upload directory: %w", err)
	}
	final := day + "/" + randomName(20)
	if ext := extensionOf(name); extension.MatchString(ext) {
		final += "." + ext
	}
	temporary := final + ".part"
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return "", fmt.Errorf("store upload: %w", err)
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temporary) // the error that matters is err
		}
	}()
	if err := copyLimited(file, content, f, f.most(u.limit)); err != nil {
		_ = file.Close()
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("store upload: %w", err)
	}
	if err := root.Rename(temporary, final); err != nil {
		return "", fmt.Errorf("store upload: %w", err)
	}
	return "/" + final, nil
}

// copyLimited copies at most so many bytes and looks at the first of them where only pictures are welcome.
func copyLimited(to io.Writer, from io.Reader, f Files, most int64) error {
	head := make([]byte, sniffLength)
	n, err := io.ReadFull(from, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read upload: %w", err)
	}
	head = head[:n]
	if f.Images && !strings.HasPrefix(http.DetectContentType(head), "image/") {
		return errNotAPicture
	}
	if most >= 0 && int64(n) > most {
		return &tooLargeError{most}
	}
	if _, err := to.Write(head); err != nil {
		return fmt.Errorf("store upload: %w", err)
	}
	rest := from
	if most >= 0 {
		rest = io.LimitReader(from, most-int64(n)+1)
	}
	copied, err := io.Copy(to, rest)
	if err != nil {
		return fmt.Errorf("receive upload: %w", err)
	}
	if most >= 0 && int64(n)+copied > most {
		return &tooLargeError{most}
	}
	return nil
}

// serveUpload takes the one file of the request.
func serveUpload(r *pageRequest) error {
	paths, refusals, err := r.receive(1)
	if err != nil {
		return err
	}
	if refusals[0] != "" {
		writeJSON(r.w, http.StatusOK, result(wire.StatusError, wire.PromptDialog, refusals[0]))
		return nil
	}
	writeJSON(r.w, http.StatusOK, wire.Result{Data: *paths[0], Success: true, Status: wire.StatusSuccess, PromptWay: wire.PromptNone})
	return nil
}

// serveUploads takes several; a refused one is null in the answer.
func serveUploads(r *pageRequest) error {
	paths, _, err := r.receive(max(r.field.files.Max, 1))
	if err != nil {
		return err
	}
	writeJSON(r.w, http.StatusOK, wire.Result{Data: paths, Success: true, Status: wire.StatusSuccess, PromptWay: wire.PromptNone})
	return nil
}

// receive streams up to most files named "file" to the disk. For each it returns its path, or why it was refused.
func (r *pageRequest) receive(most int) (paths []*string, refusals []string, err error) {
	switch {
	case r.field.Type != TypeAttachment:
		return nil, nil, invalid("field %s takes no files", r.field.Name)
	case !r.power.Add && !r.power.Edit:
		return nil, nil, errForbidden
	case r.agent.uploads.dir == "":
		return nil, nil, Refuse("%s", r.say("Failed to upload. This node keeps no files"))
	}
	reader, err := r.MultipartReader()
	if err != nil {
		return nil, nil, invalid("the body is no multipart form")
	}
	for range maxUploadParts {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) || len(paths) == most {
			break
		} else if err != nil {
			return nil, nil, invalid("the multipart form broke off")
		}
		if part.FormName() != "file" || part.FileName() == "" {
			continue
		}
		stored, refusal, err := r.receiveOne(part)
		if err != nil {
			return nil, nil, err
		}
		paths, refusals = append(paths, stored), append(refusals, refusal)
	}
	if len(paths) == 0 {
		return nil, nil, Refuse("%s", r.say("Failed to upload. The request holds no file"))
	}
	return paths, refusals, nil
}

func (r *pageRequest) receiveOne(part *multipart.Part) (stored *string, refusal string, err error) {
	name := part.FileName() // without directories
	if !r.field.files.accepts(name) {
		return nil, r.say("Upload failed, the file format is not allowed: %s", printable(extensionOf(name), 20)), nil
	}
	saved, err := r.agent.uploads.save(name, part, r.field.files)
	var tooLarge *tooLargeError
	switch {
	case errors.As(err, &tooLarge):
		return nil, r.say("Failed to upload. The file size cannot exceed: %dKB", tooLarge.most>>10), nil
	case errors.Is(err, errNotAPicture):
		return nil, r.say("Failed to upload. The file is not a picture"), nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, "", invalid("the multipart form broke off")
	case err != nil:
		return nil, "", err
	}
	return &saved, "", nil
}

// serveAttachment answers GET /erupt-attachment/{day}/{name}.
func (a *Agent) serveAttachment(w http.ResponseWriter, r *http.Request) {
	parts, ok := a.segments(r, wire.AttachmentDir)
	if !ok {
		writeError(w, r, http.StatusBadRequest, "the path has empty, dotted or encoded segments")
		return
	}
	a.serveFile(w, r, "/"+strings.Join(parts, "/"), false)
}

// serveFile sends an uploaded file: pictures of safe types to look at, all else as a download that no browser interprets.
func (a *Agent) serveFile(w http.ResponseWriter, r *http.Request, name string, download bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		methodNotAllowed(w, r, "GET, HEAD")
		return
	}
	if a.uploads.dir == "" || !uploadedPath.MatchString(name) {
		writeError(w, r, http.StatusNotFound, "there is no such file")
		return
	}
	root, err := os.OpenRoot(a.uploads.dir)
	if err != nil {
		writeError(w, r, http.StatusNotFound, "there is no such file")
		return
	}
	defer root.Close()
	file, err := root.Open(strings.TrimPrefix(name, "/"))
	if err != nil {
		writeError(w, r, http.StatusNotFound, "there is no such file")
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		writeError(w, r, http.StatusNotFound, "there is no such file")
		return
	}
	h := w.Header()
	kind := pictureTypes[extensionOf(name)]
	if kind == "" || download {
		kind = "application/octet-stream"
		h.Set("Content-Disposition", contentDisposition(path.Base(name)))
	}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "private, max-age=86400") // names are never used twice
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// contentDisposition names a download for old and for new browsers.
func contentDisposition(name string) string {
	name = printable(name, 200)
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	value := mime.FormatMediaType("attachment", map[string]string{"filename": plain})
	if plain != name {
		value += "; filename*=UTF-8''" + url.PathEscape(name)
	}
	return value
}

package agentgateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const fileLimit = 16 << 10 // what is said about a file

// createFile announces a file that an agent makes for the caller of a message
// that it works on. The file is the caller's: it can be looked up, and lives as
// long, like those that the caller uploads.
func (s *Surface) createFile(w http.ResponseWriter, r *http.Request, inst beeos.Instance, body []byte) error {
	var req struct {
		MessageID   string `json:"message_id"`
		Filename    string `json:"filename"`
		ContentType string `json:"content_type"`
	}
	if err := json.Unmarshal(body, &req); err != nil || req.MessageID == "" {
		return beeos.Errorf(beeos.InvalidBody, "the body needs message_id, filename and content_type, all of them strings")
	}
	if s.Files == nil {
		return beeos.Errorf(beeos.InvalidParam, "files need the REST surface, whose address this server does not know; its operator sets OPENAPI_PUBLIC_URL")
	}
	turn, err := s.Ledger.OpenDelivery(r.Context(), req.MessageID)
	if err != nil {
		return err
	}
	agents, _, err := s.Agents.List(r.Context(), agentstore.Filter{InstanceID: inst.ID, IDs: []string{turn.AgentID}, Limit: 1})
	if err != nil {
		return err
	}
	if len(agents) == 0 || !turn.Leased { // the same as when there is none
		return beeos.Errorf(beeos.NotFound, "there is no open request %s", req.MessageID)
	}
	ch, err := s.Ledger.Channel(r.Context(), turn.Channel)
	if err != nil {
		return err
	}
	user, ok := strings.CutPrefix(ch.Owner, "user:")
	if !ok { // an agent key belongs to the owner of the agent
		user = agents[0].OwnerID
	}
	up, err := s.Files.Make(r.Context(), ch.Owner, user, req.Filename, req.ContentType)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, struct {
		FileID            string `json:"file_id"`
		UploadURL         string `json:"upload_url"`
		DownloadURL       string `json:"download_url"`
		DownloadExpiresIn int64  `json:"download_expires_in"`
	}{up.FileID, up.UploadURL, up.DownloadURL, int64(up.DownloadExpires / time.Second)})
	return nil
}

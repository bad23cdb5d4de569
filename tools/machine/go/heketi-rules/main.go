// Command heketi-rules asks the in-tree provisioner kubernetes.io/glusterfs what it makes of a StorageClass.
//
// It reads one JSON object of parameters a line. For each it prints a JSON line: the provisioner's own error, or
// the request that it sent to Heketi. Heketi itself is not here: a server takes the request and refuses it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/glusterfs"
)

// What the plugin asks of its host: a client of the API server, which has the Secret.
type host struct {
	volume.VolumeHost
	client clientset.Interface
}

func (h host) GetKubeClient() clientset.Interface { return h.client }

func (h host) GetFilteredDialOptions() *proxyutil.FilteredDialOptions {
	return &proxyutil.FilteredDialOptions{AllowLocalLoopback: true}
}

type answer struct {
	Error   string          `json:"error,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
}

func ask(parameters map[string]string) answer {
	var sent answer
	heketi := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && len(body) > 0 {
			sent.Request = body
		}
		http.Error(w, "seen", http.StatusTeapot)
	}))
	defer heketi.Close()
	if _, given := parameters["resturl"]; given {
		parameters["resturl"] = heketi.URL
	}
	secret := &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: parameters["secretNamespace"], Name: parameters["secretName"]},
		Type:       "kubernetes.io/glusterfs",
		Data:       map[string][]byte{"key": []byte("secret")},
	}
	plugin := glusterfs.ProbeVolumePlugins()[0].(volume.ProvisionableVolumePlugin)
	if err := plugin.Init(host{client: fake.NewSimpleClientset(secret)}); err != nil {
		return answer{Error: err.Error()}
	}
	provisioner, err := plugin.NewProvisioner(volume.VolumeOptions{
		PVName:     "pvc-0",
		Parameters: parameters,
		PVC: &v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "training", Name: "digits-log"},
			Spec: v1.PersistentVolumeClaimSpec{
				AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany},
				Resources: v1.ResourceRequirements{
					Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")},
				},
			},
		},
	})
	if err != nil {
		return answer{Error: err.Error()}
	}
	if _, err = provisioner.Provision(nil, nil); sent.Request == nil && err != nil {
		return answer{Error: err.Error()}
	}
	return sent
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var parameters map[string]string
		if err := json.Unmarshal(lines.Bytes(), &parameters); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if err := json.NewEncoder(os.Stdout).Encode(ask(parameters)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}

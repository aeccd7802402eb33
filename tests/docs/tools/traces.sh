# The smallest file of each format, and a policy that they can be run under.
ln -s "$REPOSITORY/examples/openb" openb
apportion compile openb --quiet --out rendered >&2
ln -s rendered/whole/* POLICY
cat >NODES.csv <<'EOF'
sn,cpu_milli,memory_mib,gpu,model
n-0,64000,262144,2,T4
n-1,64000,262144,2,T4
EOF
cat >PODS.csv <<'EOF'
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p-0,1000,1024,2,1000,,LS,Running,0,5000,0
p-1,1000,1024,1,500,T4,BE,Succeeded,100,4100,100
EOF
mkdir DIRECTORY
cp NODES.csv DIRECTORY/openb_node_list_all_node.csv
cp PODS.csv DIRECTORY/openb_pod_list_default.csv
cat >"$HOME/jobs.txt" <<'EOF'
JobID|Account|QOS|State|Submit|Start|End|Elapsed|AllocTRES|ReqTRES
7|serving|train|COMPLETED|2026-11-02T08:00:00|2026-11-02T08:00:10|2026-11-02T08:10:10|00:10:00|cpu=2,mem=4G,gres/gpu=1,node=1|cpu=2,mem=4G,gres/gpu=1,node=1
EOF
cp "$HOME/jobs.txt" jobs.txt
cat >disaggregated_DLRM_trace.csv <<'EOF'
instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time
i-0,CN,app_1,1,1,0,0,5,5,1.0,1.0,10.0,20.0,2,,,600.0
EOF
cat >pai_job_no_estimate_100K.csv <<'EOF'
job_id,user,gpu_type,num_inst,num_gpu,num_cpu,submit_time,duration
1,u1,T4,2,0.5,6,0,600
EOF
cat >cluster_job_log <<'EOF'
[{"status": "Pass", "vc": "serving", "jobid": "application_1_2", "submitted_time": "2018-01-01 00:00:00", "user": "u", "attempts": [
  {"start_time": "2018-01-01 00:01:00", "end_time": "2018-01-01 00:11:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]}]
EOF
cat >cluster_log.csv <<'EOF'
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u1,serving,1,4,1,COMPLETED,2018-01-01 00:00:00,2018-01-01 00:01:00,2018-01-01 00:11:00,600,60
EOF
cat >cluster.json <<'EOF'
{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n", "creationTimestamp": "2018-01-01T00:00:00Z"},
  "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "10"}}}]}
{"type": "ADDED", "object": {"kind": "Pod", "metadata": {"name": "p", "namespace": "serving", "creationTimestamp": "2018-01-01T00:05:00Z"},
  "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
  "status": {"phase": "Succeeded", "startTime": "2018-01-01T00:05:10Z",
    "containerStatuses": [{"state": {"terminated": {"finishedAt": "2018-01-01T00:06:00Z"}}}]}}}
EOF
cp cluster.json "$HOME/cluster.json"
cat >nodes.yaml <<'EOF'
nodes: [{pool: t4, count: 2, gpus: 2, cpu: 64, memory: 256Gi}]
EOF

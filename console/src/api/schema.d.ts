// Made of openapi.json by `npm run types`. Not for editing.

export interface paths {
    "/api/access/what-if": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decision about a hypothetical message; nothing is recorded
         * @description Requires a key of the owner with the scope `audit`.
         */
        post: operations["postApiAccessWhatIf"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All agents, and the diagnostics of the project
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiAgents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An agent's resolved definition and prompt
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiAgentsId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Commits of an agent's folder
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiAgentsIdHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{id}/history/{commit}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A commit's changes in an agent's folder
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiAgentsIdHistoryCommit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{id}/history/{commit}/revert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revert a commit's changes in an agent's folder with a new commit
         * @description Requires a key of the owner with the scope `admin`. Also needs the scope `approve`.
         */
        post: operations["postApiAgentsIdHistoryCommitRevert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Approvals that wait for a person, or all
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An approval, with a diff of its changes
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiApprovalsId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer an approval
         * @description Requires a key of the owner with the scope `approve`.
         */
        post: operations["postApiApprovalsIdAnswer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/artifacts/{hash}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download of a file that the ledger keeps
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiArtifactsHash"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Access decisions, newest first
         * @description Requires a key of the owner with the scope `audit`.
         */
        get: operations["getApiAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An access decision, with its policies
         * @description Requires a key of the owner with the scope `audit`.
         */
        get: operations["getApiAuditId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ledger entries, in order
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/entries/{seq}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A ledger entry, with all its fields
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiEntriesSeq"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/entries/{seq}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The decisions that led to an entry
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiEntriesSeqWhy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Grants: extra permissions for a limited time
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiGrants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/grants/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a grant
         * @description Requires a key of the owner with the scope `admin`.
         */
        post: operations["postApiGrantsIdRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health of the server
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/inbounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Inbound events, newest first
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiInbounds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in: exchange a code for a cookie
         * @description Requires no key.
         */
        post: operations["postApiLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Requires any key.
         */
        post: operations["postApiLogout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The caller, and the scopes of the key
         * @description Requires any key.
         */
        get: operations["getApiMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * State of a message
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiMessagesId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Models that an agent may use
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This OpenAPI document
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiOpenapiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All access policies and known entities
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiPolicies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Permission requests that wait, or all
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Runs, newest first
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A run, with its steps, turns and calls
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiRunsId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description Requires a key with the scope `submit`; keys of others are limited to their own sessions.
         */
        post: operations["postApiRunsIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events of a run as they happen; `Last-Event-ID` resumes the stream
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiRunsIdEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/mode": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the mode of a running run
         * @description Requires a key of the owner with the scope `submit`. Also needs the scope `approve` if `mode`, `maxIterations` reduces approval questions.
         */
        post: operations["postApiRunsIdMode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay a run with the current program and files
         * @description Requires a key of the owner with the scope `read`.
         */
        post: operations["postApiRunsIdReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a run that no process works on
         * @description Requires a key of the owner with the scope `submit`.
         */
        post: operations["postApiRunsIdResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sessions, last used first
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiSessions"];
        put?: never;
        /**
         * Send a message to a new session
         * @description Requires a key with the scope `submit`; keys of others are limited to their own sessions. Also needs the scope `approve` if `mode` reduces approval questions.
         */
        post: operations["postApiSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A session, with the turns of its branch
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiSessionsId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{id}/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Summarize the older turns of a session; waits for the result
         * @description Requires a key of the owner with the scope `submit`.
         */
        post: operations["postApiSessionsIdCompact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message to a session
         * @description Requires a key with the scope `submit`; keys of others are limited to their own sessions. Also needs the scope `approve` if `mode` reduces approval questions.
         */
        post: operations["postApiSessionsIdMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Activity per time span
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Entries as they are recorded; `Last-Event-ID` resumes the stream
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getApiStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All tasks
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a task in a new session
         * @description Requires a key of the owner with the scope `submit`. Also needs the scope `approve` if `mode` reduces approval questions.
         */
        post: operations["postApiTasksIdRuns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All keys
         * @description Requires a key of the owner with the scope `admin`.
         */
        get: operations["getApiTokens"];
        put?: never;
        /**
         * Create a key; its text is returned once
         * @description Requires a key of the owner with the scope `admin`.
         */
        post: operations["postApiTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a key
         * @description Requires a key of the owner with the scope `admin`.
         */
        post: operations["postApiTokensIdRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/traces/{eventId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The trace of an event through all stages
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getApiTracesEventId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/turns/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fork a turn: start a new session that continues from it
         * @description Requires a key of the owner with the scope `submit`.
         */
        post: operations["postApiTurnsIdFork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counters for Prometheus
         * @description Requires a key of the owner with the scope `read`.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a prompt; `Accept: text/event-stream` streams its events
         * @description Requires a key with the scope `submit`; keys of others are limited to their own sessions. Also needs the scope `approve` if `mode` reduces approval questions.
         */
        post: operations["postRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/run/{message}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events of the run that answers a message; `Last-Event-ID` resumes the stream
         * @description Requires a key with the scope `read`; keys of others are limited to their own sessions.
         */
        get: operations["getRunMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer an approval of a run
         * @description Requires a key of the owner with the scope `approve`.
         */
        post: operations["postRunsIdApprovals"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description Requires a key with the scope `submit`; keys of others are limited to their own sessions.
         */
        post: operations["postRunsIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{source}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept a call of a source that the settings name under `webhooks`
         * @description Requires a signed body, or a key with the scope `submit`.
         */
        post: operations["postWebhooksSource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The id of an access decision. */
        AccessId: string;
        /** @description An access decision in the form of the audit. */
        AccessRecord: {
            /** @description The account of this installation that received the event. */
            account?: string | null;
            /** @description The channel of the event. */
            channel: string;
            /** @description The credentials that may be used. */
            credentials: components["schemas"]["Credentials"];
            /** @description The level of the owner's data that may be disclosed. */
            data: components["schemas"]["AttributedDisclosureLevel"];
            /** @description The reason of a denial; none if the event is allowed. */
            deny_reason?: components["schemas"]["DenyReason"] | null;
            /** @description Allow or deny. */
            effect: components["schemas"]["Effect"];
            /** @description The event; none if the decision was about no event. */
            event_id?: components["schemas"]["EventId"] | null;
            /** @description The commands that grants allow. */
            exec?: components["schemas"]["AttributedName"][];
            /** @description The grants that were active at the decision. */
            grants?: components["schemas"]["GrantId"][];
            /** @description The id of the record. */
            id: components["schemas"]["AccessId"];
            /** @description The policies that matched, each with its part, by rank from the first. */
            matched: components["schemas"]["PolicyContribution"][];
            /** @description The changes of policies to the handling of the event. */
            modifiers?: components["schemas"]["Modifiers"];
            /** @description The kind of conversation. */
            peer_kind?: components["schemas"]["PeerKind"] | null;
            /** @description The policies that were evaluated. */
            policies_evaluated: string[];
            /** @description The principal that the sender was identified as. */
            principal: components["schemas"]["Principal"];
            /**
             * Format: double
             * @description The time of the evaluation, in milliseconds.
             */
            processing_time_ms: number;
            /** @description The tools of the agent at that time, split by the decision. */
            resolved?: components["schemas"]["ResolvedTools"] | null;
            /** @description The id of the sender, as the channel reports it. */
            sender_identifier: string;
            /** @description The session; the canonical one if no policy names one. */
            session?: components["schemas"]["SessionChoice"] | null;
            /**
             * Format: uint64
             * @description The time of the decision, in milliseconds since 1970.
             */
            timestamp: number;
            /** @description The tools that may be called. */
            tools: components["schemas"]["ToolBounds"];
        };
        /** @description An agent with its resolved definition. */
        AgentDetails: {
            /** @description The agent. */
            agent: components["schemas"]["AgentSummary"];
            /** @description Resolved values, each with its origin; empty if the agent does not load. */
            definition: components["schemas"]["DefinitionField"][];
            /** @description Diagnostics of its files. */
            diagnostics: components["schemas"]["AgentDiagnostic"][];
            /** @description Personas that it can use. */
            personas: components["schemas"]["PersonaSummary"][];
            /** @description Reason why there is no prompt; null if there is one. */
            promptProblem: string | null;
            /** @description Prompt at the start of a turn, section by section. */
            sections: components["schemas"]["AgentPromptSection"][];
            /** @description Skills of the agent. */
            skills: components["schemas"]["DefinitionSummary"][];
            /** @description Tasks that the agent can start. */
            tasks: components["schemas"]["DefinitionSummary"][];
            /** @description Tools, each with the verdict of the agent's rules. */
            tools: components["schemas"]["ToolSummary"][];
        };
        /** @description A diagnostic: an error, a warning or a note about a file. */
        AgentDiagnostic: {
            /** @description Code of the diagnostic; `agentry explain CODE` explains it. */
            code: string;
            /**
             * Format: uint
             * @description Column, from one.
             */
            column: number;
            /** @description Path of the file. */
            file: string;
            /** @description Suggested fix; null if there is none. */
            help: string | null;
            /**
             * Format: uint
             * @description Line, from one.
             */
            line: number;
            /** @description Description of the problem. */
            message: string;
            /** @description Excerpt of the file with the position marked, as plain text. */
            rendered: string;
            /** @description error, warning or note. */
            severity: string;
        };
        /** @description A section of a prompt. */
        AgentPromptSection: {
            /**
             * Format: uint
             * @description Length in bytes.
             */
            bytes: number;
            /** @description Reason why the section is omitted; null if it is not. */
            leftOut: string | null;
            /** @description Name of the section, for programs. */
            name: string;
            /** @description Place where the text begins; null if no file holds it. */
            origin: components["schemas"]["DefinitionLocation"] | null;
            /** @description True if it belongs to the stable beginning of the prompt, which providers can cache. */
            stable: boolean;
            /** @description Text of the section. */
            text: string;
            /** @description Title of the section, for people. */
            title: string;
            /**
             * Format: uint
             * @description Approximate number of tokens.
             */
            tokens: number;
        };
        /** @description All agents of the project. */
        AgentsResponse: {
            /** @description Agents, by id, including those that do not load. */
            agents: components["schemas"]["AgentSummary"][];
            /** @description Diagnostics of the whole project. */
            diagnostics: components["schemas"]["AgentDiagnostic"][];
        };
        /** @description An agent in a list. */
        AgentSummary: {
            /** @description Description of its purpose. */
            description: string | null;
            /**
             * Format: uint
             * @description Number of errors in its files; an agent with errors may not load.
             */
            errors: number;
            /** @description Path of its main file. */
            file: string;
            /** @description Id of the agent. */
            id: string;
            /** @description True if the agent loads. */
            loads: boolean;
            /** @description Model that the agent uses; null if none is available. */
            model: string | null;
            /** @description Name of the agent. */
            name: string;
            /** @description True if the owner trusts the programs of the agent as they are now. */
            trusted: boolean;
            /**
             * Format: uint
             * @description Number of warnings in its files.
             */
            warnings: number;
        };
        /** @description An answer to an approval. */
        AnswerBody: {
            /** @description True to allow the call. */
            allow: boolean;
            /** @description `digest` of the approval that the person read. */
            digest: string;
            /** @description Arguments to use instead of those of the call; only with `allow`. */
            edit?: unknown;
            /**
             * @description Reach of a yes: a call once or for the session; a request once, for a day or always.
             * @default once
             */
            reach: components["schemas"]["ApprovalScope"];
            /** @description Reason, sent to the agent with a no. */
            reason?: string | null;
        };
        /** @description The approval after the answer. */
        AnswerResponse: {
            /** @description The approval, as it is now. */
            approval: components["schemas"]["ApprovalDetails"];
            /** @description Command that resumes the run; null if a server resumes it. */
            next: string | null;
        };
        /** @description The reason why a request failed. */
        ApiError: {
            /** @description The kind of the error, for programs. */
            code: components["schemas"]["ApiErrorCode"];
            /** @description A suggestion what to do about it, for people. */
            hint: string | null;
            /** @description A description of the error, for people. */
            message: string;
        };
        /** @description The body of an error response. */
        ApiErrorBody: {
            /** @description The error. */
            error: components["schemas"]["ApiError"];
        };
        /** @description The kind of an API error. */
        ApiErrorCode: "unauthenticated" | "forbidden" | "csrf" | "wrong_host" | "not_found" | "wrong_method" | "conflict" | "too_large" | "unsupported" | "invalid" | "rate_limited" | "timeout" | "unavailable" | "storage_full" | "internal";
        /** @description An answer to an approval. */
        ApprovalAnswer: {
            /** @description True for yes, false for no. */
            allow: boolean;
            /** @description The origin of the answer: the channel, or the key to the server. */
            by?: string | null;
            /** @description The arguments that replace those of the call; only with a yes. */
            edit?: unknown;
            /** @description True if no answer came in time; counts as a no, but not as a denial. */
            expired?: boolean;
            /**
             * @description The reach of a yes.
             * @default once
             */
            reach: components["schemas"]["ApprovalScope"];
            /** @description The reason; the model gets it with a no. */
            reason?: string | null;
        };
        /** @description An approval: a question to a person about one call. */
        ApprovalDetails: {
            /** @description Id of the agent. */
            agent: string | null;
            /** @description Answer; null if there is none yet. */
            answer: components["schemas"]["ApprovalAnswer"] | null;
            /**
             * Format: uint64
             * @description Time of the answer, in milliseconds since 1970.
             */
            answeredAt: number | null;
            /**
             * Format: uint64
             * @description Time of the question, in milliseconds since 1970.
             */
            askedAt: number;
            /**
             * Format: uint64
             * @description Sequence number of the entry that asked.
             */
            askedSeq: number;
            /**
             * Format: uint64
             * @description Length of the same text in bytes.
             */
            bytes: number;
            /** @description Id of the call. */
            callId: string;
            /**
             * Format: uint64
             * @description Length of the command, or else of the arguments as JSON, in characters.
             */
            chars: number;
            /** @description Changes that the call would make, as a unified diff; null in lists, or if unknown. */
            diff: string | null;
            /** @description Hash of tool and arguments; an answer must repeat it. */
            digest: string;
            /**
             * Format: uint64
             * @description Expiry time of the question; null if it waits as long as its run.
             */
            expiresAt: number | null;
            /** @description Findings of all stages. */
            findings: components["schemas"]["StageFinding"][];
            /** @description Id of the approval. */
            id: string;
            /** @description Arguments of the call. */
            input: unknown;
            /** @description call: approval of an agent's call; request: a permission request of a sender without it. */
            kind: string;
            /** @description Arguments as text without hidden content: escaped, with long runs folded. */
            legible: string;
            /** @description Details that are easily overlooked: look-alike host names, mixed alphabets. */
            notes: string[];
            /** @description Reason, in words. */
            reason: string;
            /** @description Requester without the permission; null unless this is a permission request. */
            requester: components["schemas"]["Requester"] | null;
            /** @description Potential harm of a call of this tool: low, medium or high. */
            risk: components["schemas"]["Risk"];
            /** @description Rule that requires the approval; null for a built-in rule. */
            rule: components["schemas"]["SourceQuote"] | null;
            /** @description Id of the run. */
            runId: string | null;
            /** @description Id of the session. */
            sessionId: string | null;
            /** @description waiting, allowed, denied, expired or withdrawn. */
            status: string;
            /** @description Name of the tool. */
            tool: string;
            /** @description Id of the turn. */
            turnId: string | null;
        };
        /** @description The reach of a yes. */
        ApprovalScope: "once" | "session" | "day" | "always";
        /** @description Filter of a list of approvals. */
        ApprovalsQuery: {
            /**
             * Format: uint
             * @description Most approvals in the list. Default: 100.
             */
            limit?: number | null;
            /** @description Waiting approvals, oldest first; or all, newest first. Default: waiting. */
            status?: components["schemas"]["ApprovalStatusFilter"] | null;
        };
        /** @description Approvals. */
        ApprovalsResponse: {
            /** @description Approvals, without diffs. */
            approvals: components["schemas"]["ApprovalDetails"][];
        };
        /** @description State of the listed approvals. */
        ApprovalStatusFilter: "waiting" | "all";
        /** @description A data level with its source. */
        AttributedDisclosureLevel: {
            /** @description The policy or grant that sets the level. */
            from: components["schemas"]["PermissionSource"];
            /** @description The level of the owner's data that may be disclosed. */
            level: components["schemas"]["DisclosureLevel"];
        };
        /** @description A name with its source. */
        AttributedName: {
            /** @description The policy or grant that gives it. */
            from: components["schemas"]["PermissionSource"];
            /** @description The name, or the pattern of a command. */
            name: string;
        };
        /** @description Filter of the audit log: decisions that match all given fields. */
        AuditQuery: {
            /** @description Channel of the decisions. */
            channel?: string | null;
            /** @description Effect of the decisions: allow or deny. Default: both. */
            effect?: components["schemas"]["Effect"] | null;
            /**
             * Format: uint
             * @description Most decisions in the list; the newest count. Default: 100.
             */
            limit?: number | null;
            /** @description Policy that contributed to the decisions. */
            policy?: string | null;
            /** @description Principal of the decisions, by id or name. */
            principal?: string | null;
            /**
             * Format: uint64
             * @description Earliest time, in milliseconds since 1970.
             */
            since?: number | null;
            /**
             * Format: uint64
             * @description End of the time range (exclusive), in milliseconds since 1970.
             */
            until?: number | null;
        };
        /** @description The identity of a caller. */
        CallerIdentity: {
            /** @description Id of the entity; null if the caller is not a registered one. */
            entityId: string | null;
            /** @description Kind of principal. */
            kind: components["schemas"]["PrincipalKind"];
            /** @description Display name; null if unknown. */
            name: string | null;
        };
        /** @description A message channel. */
        ChannelHealth: {
            /** @description True if its program runs and does not report a lost connection. */
            connected: boolean;
            /** @description Last error. */
            error: string | null;
            /**
             * Format: uint64
             * @description Number of its events that the filters dropped.
             */
            filtered: number;
            /**
             * Format: uint64
             * @description Time of the last event, in milliseconds since 1970.
             */
            lastEventAt: number | null;
            /** @description Name of the channel. */
            name: string;
            /**
             * Format: uint64
             * @description Time of the next restart of its program, in milliseconds since 1970.
             */
            nextTryAt: number | null;
            /**
             * Format: uint64
             * @description Number of its lines that were rejected.
             */
            refused: number;
            /**
             * Format: uint64
             * @description Number of restarts of its program.
             */
            restarts: number;
        };
        /** @description A commit, with its changes in the folder. */
        CommitDetails: {
            /** @description The commit. */
            commit: components["schemas"]["CommitSummary"];
            /** @description Changed files. */
            files: components["schemas"]["FileChange"][];
        };
        /** @description The commits of an agent's folder. */
        CommitHistory: {
            /** @description Commits, newest first. */
            commits: components["schemas"]["CommitSummary"][];
            /** @description True if the folder has uncommitted changes. */
            dirty: boolean;
            /** @description Reason why there is no history; null if there is one. */
            why: string | null;
        };
        /** @description Size of a list of commits. */
        CommitsQuery: {
            /**
             * Format: uint
             * @description Most commits in the list. Default: 50.
             */
            limit?: number | null;
        };
        /** @description A commit that changed an agent's folder. */
        CommitSummary: {
            /** @description Name of the author. */
            author: string;
            /**
             * Format: uint
             * @description Number of changed files in the folder.
             */
            files: number;
            /** @description Id of the commit. */
            id: string;
            /** @description First line of the message. */
            summary: string;
            /**
             * Format: uint64
             * @description Time of the commit, in milliseconds since 1970.
             */
            time: number;
        };
        /** @description The emphasis of a compaction. */
        CompactionBody: {
            /** @description Topic to describe in most detail. */
            focus?: string | null;
        };
        /** @description The result of a compaction. */
        CompactionResponse: {
            /** @description True if the session had turns to summarize. */
            compacted: boolean;
            /** @description Id of the run that did the compaction; null if there was nothing to summarize. */
            runId: string | null;
        };
        /** @description The credentials that may be used. */
        Credentials: {
            all: components["schemas"]["PermissionSource"];
        } | {
            named: components["schemas"]["AttributedName"][];
        };
        /** @description The caller of this request, and the server. */
        CurrentCaller: {
            /** @description True if the server requires no key. */
            insecure: boolean;
            /** @description The caller. */
            principal: components["schemas"]["CallerIdentity"];
            /** @description Scopes of the key. */
            scopes: components["schemas"]["TokenScope"][];
            /** @description The server. */
            server: components["schemas"]["ServerDescription"];
        };
        /** @description A decision, with the policies that contributed to it. */
        DecisionDetails: {
            /** @description The policies in their current form; deleted ones are missing. */
            policies: components["schemas"]["PolicyExcerpt"][];
            /** @description The record of the decision. */
            record: components["schemas"]["AccessRecord"];
        };
        /** @description Decisions of the audit log. */
        DecisionsResponse: {
            /** @description Decisions, newest first. */
            records: components["schemas"]["DecisionSummary"][];
        };
        /** @description A decision in a list. */
        DecisionSummary: {
            /** @description Name of the channel. */
            channel: string;
            /** @description allow or deny. */
            effect: components["schemas"]["Effect"];
            /** @description Id of the event; null if the decision is not about an event. */
            eventId: string | null;
            /** @description Id of the decision. */
            id: string;
            /** @description Kind of principal. */
            kind: string;
            /** @description Display name of the principal. */
            name: string | null;
            /** @description Id of the entity; null for an unknown principal. */
            principal: string | null;
            /**
             * Format: uint64
             * @description Sequence number of its entry.
             */
            seq: number;
            /**
             * Format: uint64
             * @description Time of the decision, in milliseconds since 1970.
             */
            time: number;
        };
        /** @description A resolved value of an agent. */
        DefinitionField: {
            /** @description Name of the value. */
            field: string;
            /** @description Group of the value, such as models or approval. */
            group: string;
            /** @description Place of the definition; null for a built-in or externally set value. */
            origin: components["schemas"]["DefinitionLocation"] | null;
            /** @description Source of a value that no file defines. */
            saidBy: string | null;
            /** @description The value, as text. */
            value: string;
        };
        /** @description A place in a definition file. */
        DefinitionLocation: {
            /** @description Path of the file, relative to the project. */
            file: string;
            /**
             * Format: uint
             * @description Line, from one.
             */
            line: number;
        };
        /** @description A skill or a task in a list. */
        DefinitionSummary: {
            /** @description Description of its purpose. */
            description: string | null;
            /** @description Id of the skill or task. */
            id: string;
        };
        /** @description The way in which a message reaches a busy session. */
        Delivery: "steer" | "followup" | "collect" | "interrupt";
        /** @description The reason why an event was denied. */
        DenyReason: {
            /** @constant */
            kind: "policy";
            /** @description The name of the policy. */
            policy: string;
        } | {
            /** @constant */
            kind: "nobody_allows";
        } | {
            /** @constant */
            kind: "missing_value";
            /** @description The policy with the key. */
            policy: string;
            /** @description The name of the missing value. */
            variable: string;
        } | {
            /** @constant */
            kind: "key_too_long";
            /** @description The policy with the key. */
            policy: string;
        };
        /** @description The levels of the owner's data that may be disclosed to a sender, the least first. */
        DisclosureLevel: "none" | "minimal" | "contextual" | "full";
        /** @description The effect of access on an event. */
        Effect: "allow" | "deny";
        /** @description The way in which a turn or a run ended. */
        Ending: "done" | "failed" | "denied" | "limit_reached" | "model_failed" | "cancelled";
        /** @description A page of entries. */
        EntryPage: {
            /** @description Entries, in order. */
            entries: unknown[];
            /**
             * Format: uint64
             * @description Sequence number of the first entry; null if the page is empty.
             */
            first: number | null;
            /**
             * Format: uint64
             * @description Sequence number of the last entry; null if the page is empty.
             */
            last: number | null;
            /** @description True if there are more entries in the requested direction. */
            more: boolean;
        };
        /** @description Filter and page of a list of entries. */
        EntryQuery: {
            /**
             * Format: uint64
             * @description Entries after this sequence number, the first of them. Not together with `before`.
             */
            after?: number | null;
            /**
             * Format: uint64
             * @description Entries before this sequence number, the last of them. Not together with `after`.
             */
            before?: number | null;
            /** @description True to include large fields and uncut texts. Default: false. */
            full?: boolean | null;
            /**
             * Format: uint
             * @description Most entries in the page. Default: 500.
             */
            limit?: number | null;
            /** @description Only entries of this run. */
            run?: string | null;
            /** @description Only entries of this session. */
            session?: string | null;
            /** @description Only entries of this turn. */
            turn?: string | null;
        };
        /** @description The entries to stream, and the entry to begin after. */
        EntryStreamQuery: {
            /**
             * Format: uint64
             * @description Sequence number to start after; `Last-Event-ID` has priority. Default: new entries only.
             */
            after?: number | null;
            /** @description Also pieces of answers in progress, as `delta` events. Default: false. */
            deltas?: boolean | null;
            /** @description Only entries of this run; has priority over `session`. */
            run?: string | null;
            /** @description Only entries of this session. */
            session?: string | null;
        };
        /** @description The id of an event: `{channel}:{source_id}`. */
        EventId: string;
        /** @description The change of a file. */
        FileChange: {
            /** @description True if the diff was cut. */
            cut: boolean;
            /** @description Unified diff; empty for a binary file. */
            diff: string;
            /** @description Path of the file. */
            path: string;
            /** @description added, deleted, modified or changed. */
            status: string;
        };
        /** @description The key of the new session. */
        ForkBody: {
            /** @description Key of the new session. Default: a generated key. */
            key?: string | null;
        };
        /** @description The new session of a fork. */
        ForkResponse: {
            /** @description Key of the session. */
            key: string;
            /** @description Id of the session. */
            sessionId: string;
        };
        /** @description An answer to an approval, in the form of AgentEvent protocol clients. */
        GateAnswerBody: {
            /** @description True to allow the call. */
            allow: boolean;
            /** @description Id of the approval. */
            gateId: string;
            /** @description Reason of a no. */
            reason?: string | null;
            /** @description True to allow this exact call for the rest of the session. */
            session?: boolean | null;
        };
        /** @description The id of a grant. */
        GrantId: string;
        /** @description Filter of a list of grants. */
        GrantsQuery: {
            /** @description True to include expired and revoked grants. Default: false. */
            all?: boolean | null;
        };
        /** @description Grants. */
        GrantsResponse: {
            /** @description Grants, newest first. */
            grants: components["schemas"]["GrantSummary"][];
        };
        /** @description A grant: extra permissions, usually for a limited time. */
        GrantSummary: {
            /** @description True if the grant is active now. */
            active: boolean;
            /** @description Channel to which the grant is limited; null for any. */
            channel: string | null;
            /**
             * Format: uint64
             * @description Time of the grant, in milliseconds since 1970.
             */
            createdAt: number;
            /**
             * Format: uint64
             * @description Expiry time, in milliseconds since 1970; null if it does not expire.
             */
            expiresAt: number | null;
            /** @description Giver of the grant. */
            grantedBy: string;
            /** @description Id of the grant. */
            id: string;
            /** @description Principal that has the grant, such as person:mom. */
            principal: string;
            /** @description Reason for the grant. */
            reason: string | null;
            /** @description Id of the permission request behind the grant. */
            request: string | null;
            /** @description Granted resources, such as tool:web_fetch. */
            resources: string[];
            /**
             * Format: uint64
             * @description Time of revocation, in milliseconds since 1970; null if it is not revoked.
             */
            revokedAt: number | null;
            /** @description Key of the session to which the grant is limited; null for any. */
            session: string | null;
        };
        /** @description Event hooks. */
        HookHealth: {
            /**
             * Format: uint64
             * @description Number of enabled hooks.
             */
            enabled: number;
            /**
             * Format: uint64
             * @description Number of enabled hooks that failed last, or are paused after failures.
             */
            failing: number;
        };
        /** @description Size of a list of inbound events. */
        InboundsQuery: {
            /**
             * Format: uint
             * @description Most events in the list; the newest count. Default: 100.
             */
            limit?: number | null;
        };
        /** @description Inbound events. */
        InboundsResponse: {
            /** @description Inbound events, newest first. */
            inbounds: components["schemas"]["InboundSummary"][];
        };
        /** @description A received event, or a message that an agent sent. */
        InboundSummary: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the event. */
            eventId: string;
            /** @description Id of its run. */
            runId: string | null;
            /** @description Display name of the sender, or else its id on the channel. */
            sender: string;
            /**
             * Format: uint64
             * @description Sequence number of its first entry.
             */
            seq: number;
            /** @description Id of the session to which it was routed. */
            sessionId: string | null;
            /** @description State: received, denied, waiting, running, answered and others. */
            status: string;
            /** @description Beginning of the text. */
            text: string;
            /**
             * Format: uint64
             * @description Time of that entry, in milliseconds since 1970.
             */
            time: number;
            /** @description Reason why it gets no turn; null if it has one or waits for one. */
            why: string | null;
        };
        /** @description The key to create. */
        KeyBody: {
            /** @description Id of the entity that uses the key. Default: the owner. */
            entityId?: string | null;
            /** @description Name of the key. */
            name: string;
            /** @description Scopes of the key; at most those of the key that creates it. */
            scopes: components["schemas"]["TokenScope"][];
            /**
             * Format: uint64
             * @description Lifetime in milliseconds. Default: until the key is revoked.
             */
            validMs?: number | null;
        };
        /** @description A new key. */
        KeyResponse: {
            /** @description The key as clients send it; returned only once. */
            key: string;
            /** @description The key's properties. */
            token: components["schemas"]["KeySummary"];
        };
        /** @description All keys. */
        KeysResponse: {
            /** @description Keys, oldest first. */
            tokens: components["schemas"]["KeySummary"][];
        };
        /** @description A key, without its secret. */
        KeySummary: {
            /**
             * Format: uint64
             * @description Time of creation, in milliseconds since 1970.
             */
            createdAt: number;
            /** @description Id of the entity that uses the key; null for the owner. */
            entityId: string | null;
            /**
             * Format: uint64
             * @description Expiry time, in milliseconds since 1970; null if the key does not expire.
             */
            expiresAt: number | null;
            /** @description Id of the key. */
            id: string;
            /** @description bearer, cookie or code. */
            kind: string;
            /** @description Name of the key. */
            name: string;
            /**
             * Format: uint64
             * @description Time of revocation, in milliseconds since 1970; null if the key is valid.
             */
            revokedAt: number | null;
            /** @description Scopes of the key. */
            scopes: components["schemas"]["TokenScope"][];
        };
        /** @description The last run of a session. */
        LastRun: {
            /** @description Id of the run. */
            id: string;
            /** @description Mode of the run: structured or wiggum. */
            mode: string;
            /** @description Model of the run. */
            model: string;
            /** @description State of the run. */
            status: string;
        };
        /** @description The ledger. */
        LedgerHealth: {
            /**
             * Format: uint64
             * @description Size of the ledger's files, in bytes.
             */
            bytes: number;
            /** @description Directory of this home. */
            home: string;
            /**
             * Format: uint64
             * @description Sequence number of the last entry.
             */
            lastSeq: number;
        };
        /** @description A sign-in with a code from `agentry console`. */
        LoginBody: {
            /** @description One-time code. */
            code: string;
        };
        /** @description Confirmation of the sign-out: an empty object. */
        LogoutResponse: Record<string, never>;
        /** @description A key by which a policy selects its principals, places and times. */
        MatchKey: "is_user" | "relationship" | "tags" | "person_id" | "unknown" | "system" | "webhook" | "agent" | "channel" | "peer_kind" | "account" | "guild" | "time" | "hook_id" | "event_type";
        /** @description A message to a session. */
        MessageBody: {
            /** @description Delivery to a busy session: steer, followup, collect or interrupt. */
            delivery?: string | null;
            /** @description Mode, if the message starts a run; `wiggum` needs a key with the scope `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description Model, if the message starts a run. */
            model?: string | null;
            /** @description Text of the message. */
            text: string;
        };
        /** @description The time to wait for a message. */
        MessageQuery: {
            /**
             * Format: uint64
             * @description Time to wait until the message has a run or is settled, in milliseconds. Default: 0.
             */
            waitMs?: number | null;
        };
        /** @description An accepted message. */
        MessageReceipt: {
            /** @description Id of the message. */
            eventId: components["schemas"]["EventId"];
            /**
             * Format: uint64
             * @description Sequence number of its entry.
             */
            seq: number;
        };
        /** @description The state of a message. */
        MessageStatus: {
            /** @description Text of the answer; null if there is none yet. */
            answer: string | null;
            /** @description Id of the message. */
            eventId: components["schemas"]["EventId"];
            /** @description Id of the run that answers it; null if there is none yet. */
            runId: string | null;
            /** @description Id of its session; null before it is routed. */
            sessionId: string | null;
            /** @description State: received, denied, waiting, running, answered and others. */
            status: string;
            /** @description Reason why the message gets no run; null if it has one or waits for one. */
            why: string | null;
        };
        /** @description The mode to change to. */
        ModeBody: {
            /**
             * Format: uint32
             * @description Most iterations from now on; needs a key with the scope `approve`.
             */
            maxIterations?: number | null;
            /** @description Mode; `wiggum` needs a key with the scope `approve`. */
            mode: components["schemas"]["ModeSchema"];
        };
        /** @description A model, and its availability. */
        ModelAvailability: {
            /** @description True if the agent may use it and its provider is available. */
            allowed: boolean;
            /** @description True if the agent uses it by default. */
            default: boolean;
            /** @description Provider and model, as `provider/model`. */
            name: string;
            /** @description Id of the provider. */
            provider: string;
            /** @description Reason why it is unavailable; null if it is available. */
            why: string | null;
        };
        /** @description The agent whose models to list. */
        ModelsQuery: {
            /** @description Id of the agent. Default: none, only the settings count. */
            agent?: string | null;
        };
        /** @description Models. */
        ModelsResponse: {
            /** @description Known models. */
            models: components["schemas"]["ModelAvailability"][];
        };
        /** @description Mode of a run. */
        ModeSchema: "structured" | "wiggum";
        /** @description The changes of policies to the handling of an event. */
        Modifiers: {
            /** @description True if the answer is held back until the quiet time ends. */
            delay_response?: components["schemas"]["Said_boolean"] | null;
            /** @description The delivery to a busy session. */
            delivery?: components["schemas"]["Said_Delivery"] | null;
        };
        /** @description Names or patterns with `*` and `?`, from one policy or grant. */
        NameList: {
            /** @description The policy or grant with these names. */
            from: components["schemas"]["PermissionSource"];
            /** @description The names or patterns. */
            names: string[];
        };
        /** @description Parameters of a route without a query or without a body. */
        NoParams: Record<string, never>;
        /** @description The schema of the OpenAPI document itself: any JSON. */
        OpenApiDocument: unknown;
        /** @description The kind of conversation. */
        PeerKind: "dm" | "group" | "channel";
        /** @description Permission requests. */
        PermissionRequestsResponse: {
            /** @description Permission requests; waiting ones are answered as approvals. */
            requests: components["schemas"]["ApprovalDetails"][];
        };
        /** @description The source of a power. */
        PermissionSource: {
            policy: string;
        } | {
            grant: components["schemas"]["GrantId"];
        } | "default";
        /** @description A known entity: a person, or another sender. */
        Person: {
            /** @description Id that policies and grants use. */
            id: string;
            /** @description Identities, one per channel and account. */
            identities: components["schemas"]["PersonIdentity"][];
            /** @description True if this is the owner. */
            isUser: boolean;
            /** @description Display name. */
            name: string;
            /** @description Relationship to the owner, such as friend. */
            relationship: string | null;
            /** @description Tags that policies and grants can match. */
            tags: string[];
        };
        /** @description A persona of an agent. */
        PersonaSummary: {
            /** @description First line of its text. */
            description: string | null;
            /** @description Id of the persona. */
            id: string;
            /** @description True if the agent uses it by default. */
            isDefault: boolean;
            /** @description Name of the persona. */
            name: string;
        };
        /** @description The identity of an entity on one channel. */
        PersonIdentity: {
            /** @description Account of the owner on which the identity is known; null for any. */
            account: string | null;
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the entity on the channel. */
            identifier: string;
        };
        /** @description The part of one policy in a decision. */
        PolicyContribution: {
            /** @description The outcome of its evaluation. */
            part: components["schemas"]["PolicyOutcome"];
            /** @description The name of the policy. */
            policy: string;
        };
        /** @description The outcome of one policy. */
        PolicyEvaluation: {
            /** @description True if the policy contributed to the decision. */
            matched: boolean;
            /** @description Outcome, in words. */
            part: string;
            /** @description Name of the policy. */
            policy: string;
        };
        /** @description The name, place and text of a policy. */
        PolicyExcerpt: {
            /** @description Effect: allow or deny. */
            effect: components["schemas"]["Effect"];
            /** @description Path of its file; for a bundled policy, a name that is not a path. */
            file: string;
            /**
             * Format: uint
             * @description Line, from one.
             */
            line: number;
            /** @description Name of the policy. */
            name: string;
            /** @description Text of the policy in its file. */
            text: string;
        };
        /** @description The outcome of the evaluation of one policy. */
        PolicyOutcome: "disabled" | {
            not_matched: components["schemas"]["MatchKey"];
        } | "allowed" | "denied" | "modified";
        /** @description Access policies and known entities. */
        PolicyOverview: {
            /** @description All known entities. */
            people: components["schemas"]["Person"][];
            /** @description All policies, in order of rank. */
            policies: components["schemas"]["PolicySummary"][];
        };
        /** @description An access policy. */
        PolicySummary: {
            /** @description Description of its purpose. */
            description: string | null;
            /** @description Effect: allow or deny. */
            effect: components["schemas"]["Effect"];
            /** @description True if the policy is enabled. */
            enabled: boolean;
            /** @description Path of its file; for a bundled policy, a name that is not a path. */
            file: string;
            /** @description Permissions: tools, credentials, data, session and queue mode. */
            grants: unknown;
            /**
             * Format: uint64
             * @description Time of the last such decision, in milliseconds since 1970.
             */
            lastUsedAt: number | null;
            /**
             * Format: uint
             * @description Line, from one.
             */
            line: number;
            /** @description Principals and conditions that it matches, in words. */
            matches: string;
            /** @description Name of the policy. */
            name: string;
            /**
             * Format: uint8
             * @description Priority; higher ones are evaluated first.
             */
            priority: number;
            /** @description Text of the policy in its file. */
            text: string;
            /**
             * Format: uint64
             * @description Number of recorded decisions to which it contributed.
             */
            uses: number;
        };
        /** @description A principal: the sender of a message. */
        Principal: {
            /** @description The id of the agent, for an agent. */
            agent_id?: string | null;
            /** @description The id of the entity, if it is known. */
            entity_id?: string | null;
            /** @description The kind of principal. */
            kind: components["schemas"]["PrincipalKind"];
            /** @description The name that the owner gave it. */
            name?: string | null;
            /** @description The relationship to the owner: `partner`, `family`, `friend`, `work`. */
            relationship?: string | null;
            /** @description The name of the program, for a webhook. */
            source?: string | null;
            /** @description The tags that the owner gave it. */
            tags?: string[];
        };
        /** @description The kind of principal. */
        PrincipalKind: "owner" | "known" | "unknown" | "system" | "webhook" | "agent";
        /** @description The server's process. */
        ProcessHealth: {
            /**
             * Format: uint64
             * @description Resident memory in bytes; null if the system does not report it.
             */
            rssBytes: number | null;
            /**
             * Format: uint64
             * @description Start time, in milliseconds since 1970.
             */
            startedAt: number;
            /**
             * Format: uint64
             * @description Number of open event streams.
             */
            streams: number;
            /**
             * Format: uint64
             * @description Number of threads; null if the system does not report it.
             */
            threads: number | null;
        };
        /** @description A prompt and optional run settings. */
        PromptBody: {
            /** @description Id of the agent that answers. Owner only. */
            agent?: string | null;
            /** @description Mode of the run. Owner only; `wiggum` needs a key with the scope `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description Model of the run. Owner only. */
            model?: string | null;
            /** @description Text of the prompt. */
            prompt: string;
            /** @description Key of the session. Default: a new session. Owner only. */
            session?: string | null;
        };
        /** @description The provenance of an entry: the decisions that led to it. */
        Provenance: {
            /** @description Steps that led to the entry, from cause to effect. */
            links: components["schemas"]["ProvenanceLink"][];
            /**
             * Format: uint64
             * @description Sequence number of the entry.
             */
            seq: number;
        };
        /** @description A step on the way to an entry. */
        ProvenanceLink: {
            /** @description Details of the step. */
            detail: string;
            /**
             * Format: uint64
             * @description Sequence number of the entry that records the step; null if it only follows from one.
             */
            seq: number | null;
            /** @description Kind of the step. */
            stage: components["schemas"]["ProvenanceStage"];
            /** @description Current text of that line; null if the file no longer has it. */
            text: string | null;
            /** @description Title of the step. */
            title: string;
            /** @description Verdict; null if the step is not a decision. */
            verdict: components["schemas"]["Verdict"] | null;
            /** @description Place of the rule behind the step; null if there is none. */
            where: components["schemas"]["DefinitionLocation"] | null;
        };
        /** @description Kind of a step on the way to an entry. */
        ProvenanceStage: "received" | "access" | "grant" | "route" | "agent" | "rule" | "guard" | "hook" | "approval" | "confinement" | "result";
        /** @description A provider of models. */
        ProviderHealth: {
            /** @description True if requests can be sent to it. */
            configured: boolean;
            /** @description Protocol of the provider. */
            kind: string;
            /**
             * Format: uint
             * @description Number of models that it is known to have.
             */
            models: number;
            /** @description Name of the provider in the settings. */
            name: string;
            /** @description Reason why no requests can be sent to it; null if they can. */
            problem: string | null;
        };
        /** @description A message in the queue of a session. */
        QueuedMessage: {
            /** @description Delivery to a busy session: steer, followup, collect or interrupt. */
            delivery: string | null;
            /** @description Id of the message. */
            eventId: string;
            /** @description Name of the sender, or its id on the channel. */
            from: string;
            /**
             * Format: uint64
             * @description Time of arrival, in milliseconds since 1970.
             */
            receivedAt: number;
            /** @description Text of the message. */
            text: string;
        };
        /** @description Numbers of runs and messages. */
        QueueHealth: {
            /**
             * Format: uint64
             * @description Runs that wait for an approval.
             */
            paused: number;
            /**
             * Format: uint64
             * @description Running runs.
             */
            running: number;
            /**
             * Format: uint
             * @description Most turns that run at the same time.
             */
            runningMax: number;
            /**
             * Format: uint64
             * @description Answers that are not delivered yet.
             */
            undelivered: number;
            /**
             * Format: uint64
             * @description Messages that wait for a turn.
             */
            waiting: number;
        };
        /** @description The result of a replay. */
        ReplayResponse: {
            /** @description True if all moves are the same. */
            identical: boolean;
            /**
             * Format: uint64
             * @description Number of moves that are the same, before the first difference.
             */
            moves: number;
            /** @description Recorded move at the difference; null if there is none. */
            recorded: string | null;
            /** @description Today's move at the difference; null if there is none. */
            today: string | null;
        };
        /** @description The sender of a permission request. */
        Requester: {
            /** @description Channel of the message. */
            channel: string;
            /** @description Kind of principal. */
            kind: string;
            /** @description Text of the message. */
            message: string;
            /** @description Display name of the requester. */
            name: string;
            /** @description Reason why the requester lacks the permission. */
            reason: string;
            /** @description Resources that an approval with reach would grant. */
            resources: string[];
        };
        /** @description The tools of the agent at the time of a decision. */
        ResolvedTools: {
            /** @description The tools that may be called. */
            tools_allowed: string[];
            /** @description The tools that may not be called. */
            tools_denied: string[];
        };
        /** @description The result of a revert. */
        RevertResponse: {
            /** @description Id of the new commit that reverts the change. */
            commit: string;
        };
        /** @description The reason for a revocation. */
        RevokeBody: {
            /** @description Reason, in words. */
            reason?: string | null;
        };
        /** @description The harm that a call can do; shown with an approval, decides nothing by itself. */
        Risk: "low" | "medium" | "high";
        /** @description A tool call of a run. */
        RunCall: {
            /**
             * Format: uint64
             * @description Sequence number of the entry that settled it; null if it is not settled.
             */
            finishedSeq: number | null;
            /** @description Id of the call. */
            id: string;
            /**
             * Format: uint64
             * @description Sequence number of the entry that proposed it.
             */
            proposedSeq: number;
            /**
             * Format: uint64
             * @description Sequence number of the entry that started it; null if it did not start.
             */
            startedSeq: number | null;
            /** @description State of the call. */
            status: string;
            /** @description Name of the tool. */
            tool: string;
            /** @description Id of its turn. */
            turnId: string | null;
        };
        /** @description The record of a request to a run. */
        RunControlReceipt: {
            /**
             * Format: uint64
             * @description Sequence number of its entry.
             */
            seq: number;
        };
        /** @description A run with its steps, turns and calls. */
        RunDetails: {
            /** @description Tool calls, in the order in which they were proposed. */
            calls: components["schemas"]["RunCall"][];
            /** @description The run. */
            run: components["schemas"]["RunSummary"];
            /** @description Steps of its task, in order. */
            steps: components["schemas"]["RunStep"][];
            /** @description Timed spans, in order of their start. */
            timeline: components["schemas"]["TimelineSpan"][];
            /** @description Turns, in order of their start. */
            turns: components["schemas"]["TurnSummary"][];
        };
        /** @description A page of runs. */
        RunPage: {
            /** @description `before` for the next page; null on the last page. */
            next: string | null;
            /** @description Runs, newest first. */
            runs: components["schemas"]["RunSummary"][];
        };
        /** @description Filter and page of a list of runs. */
        RunsQuery: {
            /** @description Runs after this one: `next` of the page before. */
            before?: string | null;
            /**
             * Format: uint
             * @description Most runs in the page. Default: 50.
             */
            limit?: number | null;
            /** @description State of the listed runs. Default: any. */
            status?: components["schemas"]["RunStatusFilter"] | null;
        };
        /**
         * @description State of a run.
         * @enum {string}
         */
        RunStatusFilter: "planned" | "running" | "paused_for_approval" | "completed" | "failed" | "canceled";
        /** @description A step of a task. */
        RunStep: {
            /** @description Id of the agent. */
            agent: string;
            /** @description Name of the step. */
            id: string;
            /**
             * Format: uint32
             * @description Index of the step, from zero.
             */
            index: number;
            /** @description State of the step. */
            status: string;
            /** @description Id of the last turn that worked on it. */
            turnId: string | null;
            /** @description Source of the step: `prompt`, or `step:` with a file of the task. */
            uses: string;
        };
        /** @description A run. */
        RunSummary: {
            /** @description Id of the agent. */
            agent: string;
            /**
             * Format: uint64
             * @description Time of creation, in milliseconds since 1970.
             */
            createdAt: number;
            /**
             * Format: uint64
             * @description End time, in milliseconds since 1970; null while the run goes on.
             */
            endedAt: number | null;
            /** @description Ending; null while the run goes on. */
            ending: components["schemas"]["Ending"] | null;
            /** @description Id of the run. */
            id: string;
            /** @description Mode of the run: structured or wiggum. */
            mode: string;
            /** @description Model of the run. */
            model: string;
            /** @description Beginning of the prompt. */
            prompt: string;
            /** @description Id of its session. */
            sessionId: string | null;
            /** @description State of the run. */
            status: string;
            /** @description Id of the task; null if the run is of a prompt. */
            task: string | null;
            /** @description Tokens and cost of the run. */
            usage: components["schemas"]["UsageSummary"];
        };
        /** @description A value with its policy. */
        Said_boolean: {
            /** @description The policy that sets the value. */
            policy: string;
            /** @description The value of the setting. */
            value: boolean;
        };
        /** @description A value with its policy. */
        Said_Delivery: {
            /** @description The policy that sets the value. */
            policy: string;
            /** @description The value of the setting. */
            value: components["schemas"]["Delivery"];
        };
        /** @description An escape test, or a limit. */
        SandboxCheck: {
            /** @description Result, in words. */
            detail: string;
            /** @description Name of the check. */
            name: string;
            /** @description True if the escape was blocked, or the kernel enforces the limit. */
            ok: boolean;
        };
        /** @description The sandbox for the processes of agents. */
        SandboxHealth: {
            /** @description Results of the escape tests, and the strength of the limits. */
            checks: components["schemas"]["SandboxCheck"][];
            /** @description Release of the kernel, if the sandbox was tested. */
            kernel: string | null;
            /** @description ns, bwrap, seatbelt or landlock; off if the operator disabled it; missing if unavailable. */
            level: string;
        };
        /** @description The server that answers. */
        ServerDescription: {
            /** @description Directory of the definitions; null unless the caller is the owner. */
            project: string | null;
            /** @description Sandbox level: ns, bwrap, seatbelt, landlock, off or missing. */
            sandbox: string;
            /**
             * Format: uint64
             * @description Start time of the server, in milliseconds since 1970.
             */
            startedAt: number;
            /** @description Version of Agentry. */
            version: string;
        };
        /** @description Health of the server. */
        ServerHealth: {
            /** @description Message channels. */
            channels: components["schemas"]["ChannelHealth"][];
            /** @description Event hooks. */
            hooks: components["schemas"]["HookHealth"];
            /** @description Ledger of this home. */
            ledger: components["schemas"]["LedgerHealth"];
            /** @description Problems, in words. */
            problems: string[];
            /** @description The server's process. */
            process: components["schemas"]["ProcessHealth"];
            /** @description Providers of models. */
            providers: components["schemas"]["ProviderHealth"][];
            /** @description Numbers of runs and messages that are running or waiting. */
            queue: components["schemas"]["QueueHealth"];
            /** @description Sandbox for the processes of agents. */
            sandbox: components["schemas"]["SandboxHealth"];
            /** @description ok; or degraded if there are problems. */
            status: string;
            /** @description Degraded protections and other warnings, in words. */
            warnings: string[];
        };
        /** @description The session that an event goes to. */
        SessionChoice: {
            /** @description The key of the session, with all placeholders filled in. */
            key: string;
            /** @description The persona that answers in the session; none means the agent's own choice. */
            persona?: string | null;
            /** @description The policy that names the session. */
            policy: string;
        };
        /** @description A session with its turns. */
        SessionDetails: {
            /** @description Turns of its branch, oldest first; the last ones of a long branch. */
            branch: components["schemas"]["TurnSummary"][];
            /** @description Context window usage of the last request; null if unknown. */
            context: components["schemas"]["WindowUsage"] | null;
            /** @description Messages that wait for their turn. */
            queue: components["schemas"]["QueuedMessage"][];
            /** @description The session. */
            session: components["schemas"]["SessionSummary"];
        };
        /** @description A page of sessions. */
        SessionPage: {
            /** @description `before` for the next page; null on the last page. */
            next: string | null;
            /** @description Sessions, last used first. */
            sessions: components["schemas"]["SessionSummary"][];
        };
        /** @description Filter and page of a list of sessions. */
        SessionsQuery: {
            /** @description Sessions after this one: `next` of the page before. */
            before?: string | null;
            /**
             * Format: uint
             * @description Most sessions in the page. Default: 50.
             */
            limit?: number | null;
            /** @description Text to find in the key, agent or last prompt of a session. */
            q?: string | null;
        };
        /** @description The first message of a new session. */
        SessionStartBody: {
            /** @description Id of the agent that answers. Default: the agent that the policies choose. */
            agent?: string | null;
            /** @description Key of the new session. Default: a generated key. */
            key?: string | null;
            /** @description Mode of the run; `wiggum` needs a key with the scope `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description Model of the run. */
            model?: string | null;
            /** @description Text of the message. */
            text: string;
        };
        /** @description A session. */
        SessionSummary: {
            /** @description Id of the agent. */
            agent: string;
            /**
             * Format: uint
             * @description Number of approvals that wait for a person.
             */
            approvals: number;
            /**
             * Format: uint64
             * @description Time of creation, in milliseconds since 1970.
             */
            createdAt: number;
            /** @description Id of the session. */
            id: string;
            /** @description Key of the session, chosen by a person or generated. */
            key: string;
            /**
             * Format: uint64
             * @description Sequence number of the last entry about the session.
             */
            lastSeq: number;
            /** @description Last run; null before the first one. */
            run: components["schemas"]["LastRun"] | null;
            /** @description idle, running, waiting, queued or failed. */
            state: string;
            /** @description Beginning of the last prompt; empty before the first run. */
            title: string;
            /**
             * Format: uint64
             * @description Number of turns in its branch.
             */
            turns: number;
            /**
             * Format: uint64
             * @description Time at which a turn last began or ended, in milliseconds since 1970.
             */
            updatedAt: number;
            /** @description Tokens and cost of the session. */
            usage: components["schemas"]["UsageSummary"];
            /**
             * Format: uint
             * @description Number of messages in its queue.
             */
            waiting: number;
        };
        /** @description A place in a definition file, with its current text. */
        SourceQuote: {
            /** @description Path of the file. */
            file: string;
            /**
             * Format: uint
             * @description Line, from one.
             */
            line: number;
            /** @description Current text of the line; null if the file no longer has it. */
            text: string | null;
        };
        /** @description The finding of one stage about a call. */
        StageFinding: {
            /** @description Rule behind the finding, as `file:line`, or `built-in` and its name. */
            rule: string | null;
            /** @description Stage: registered, input, access, scope, sandbox, tool access, rules, danger or hook. */
            source: string;
            /** @description allow, ask or deny. */
            verdict: string;
            /** @description Reason, in words. */
            why: string;
        };
        /** @description Activity per time span. */
        Stats: {
            /**
             * Format: uint64
             * @description Length of a span, in milliseconds.
             */
            bucketMs: number;
            /** @description Spans, oldest first, including those without activity. */
            buckets: components["schemas"]["StatsBucket"][];
        };
        /** @description Activity in a time span. */
        StatsBucket: {
            /**
             * Format: uint64
             * @description Number of tool calls.
             */
            calls: number;
            /**
             * Format: double
             * @description Known part of the cost, in US dollars.
             */
            costUsd: number;
            /**
             * Format: uint64
             * @description Number of ledger entries.
             */
            events: number;
            /**
             * Format: uint64
             * @description Number of runs that failed.
             */
            failed: number;
            /**
             * Format: uint64
             * @description Input tokens.
             */
            inputTokens: number;
            /**
             * Format: uint64
             * @description Output tokens.
             */
            outputTokens: number;
            /**
             * Format: uint64
             * @description Start time, in milliseconds since 1970.
             */
            t: number;
            /**
             * Format: uint64
             * @description Number of turns that ended.
             */
            turns: number;
        };
        /** @description Time range of the statistics. */
        StatsQuery: {
            /**
             * Format: uint64
             * @description Number of hours up to now. Default: 24.
             */
            hours?: number | null;
        };
        /** @description An input of a task. */
        TaskInput: {
            /** @description Default value; null if the input is required. */
            default: string | null;
            /** @description Description of the input. */
            description: string;
            /** @description Name of the input. */
            name: string;
        };
        /** @description The inputs and settings of a task run. */
        TaskRunBody: {
            /** @description Id of the agent for steps that name none. */
            agent?: string | null;
            /**
             * @description Values by input name; inputs with a default are optional.
             * @default {}
             */
            inputs: {
                [key: string]: string;
            };
            /** @description Mode of the run; `wiggum` needs a key with the scope `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description Model of the run. */
            model?: string | null;
        };
        /** @description Tasks. */
        TasksResponse: {
            /** @description All tasks that load. */
            tasks: components["schemas"]["TaskSummary"][];
        };
        /** @description A task. */
        TaskSummary: {
            /** @description Id of the agent of its first step; null for the agent that the request names. */
            agent: string | null;
            /** @description Description of its purpose. */
            description: string | null;
            /** @description Id of the task. */
            id: string;
            /** @description Inputs of the task. */
            inputs: components["schemas"]["TaskInput"][];
        };
        /** @description A timed span of a run. */
        TimelineSpan: {
            /** @description Id of the call; null unless it is a tool call. */
            callId: string | null;
            /**
             * Format: uint64
             * @description End time, in milliseconds since 1970; null while it runs.
             */
            endedAt: number | null;
            /**
             * Format: uint64
             * @description Input tokens; null unless it is a model request.
             */
            inputTokens: number | null;
            /** @description model, tool, approval, hook or check. */
            kind: string;
            /** @description Label, such as the name of the tool. */
            label: string;
            /**
             * Format: uint64
             * @description Output tokens; null unless it is a model request.
             */
            outputTokens: number | null;
            /**
             * Format: uint64
             * @description Sequence number of its first entry.
             */
            seq: number;
            /**
             * Format: uint64
             * @description Start time, in milliseconds since 1970.
             */
            startedAt: number;
            /** @description running, done, or the outcome. */
            status: string;
            /** @description Id of the turn. */
            turnId: string | null;
        };
        /** @description A scope that a key opens. No scope includes another. */
        TokenScope: "read" | "submit" | "approve" | "admin" | "audit" | "executor";
        /** @description The tools that may be called, as lists for the kernel to compare with a tool's name. */
        ToolBounds: {
            /** @description A tool on one of these lists is allowed. */
            allow?: components["schemas"]["NameList"][];
            /** @description A tool must be on each of these lists. */
            ceilings?: components["schemas"]["NameList"][];
            /** @description A tool on one of these lists is denied; no other list overrides this. */
            deny?: components["schemas"]["NameList"][];
            /** @description A grant allows a tool on one of these lists unless it is denied by name. */
            granted?: components["schemas"]["NameList"][];
            /** @description A tool must be on each of these lists, since a policy denies all others. */
            only?: components["schemas"]["NameList"][];
        };
        /** @description A tool of an agent. */
        ToolSummary: {
            /** @description Name of the tool. */
            name: string;
            /** @description allow: no call needs approval; ask: some or all calls do; deny: the tool is not offered. */
            verdict: string;
            /** @description Reason for the verdict. */
            why: string;
        };
        /** @description A turn of a branch. */
        TurnSummary: {
            /** @description True if the turn is a compaction: it only summarizes the turns before it. */
            compaction: boolean;
            /**
             * Format: uint64
             * @description End time, in milliseconds since 1970; null while the turn runs.
             */
            endedAt: number | null;
            /**
             * Format: uint64
             * @description Sequence number of its last entry; null while the turn runs.
             */
            endedSeq: number | null;
            /** @description Ending; null while the turn runs. */
            ending: components["schemas"]["Ending"] | null;
            /** @description Id of the turn before it in the branch. */
            parentId: string | null;
            /** @description Text of the prompt. */
            prompt: string;
            /** @description Id of its run. */
            runId: string | null;
            /**
             * Format: uint64
             * @description Start time, in milliseconds since 1970.
             */
            startedAt: number;
            /**
             * Format: uint64
             * @description Sequence number of its first entry.
             */
            startedSeq: number;
            /** @description Id of the turn. */
            turnId: string;
            /** @description Tokens and cost of the turn. */
            usage: components["schemas"]["UsageSummary"];
        };
        /** @description Tokens and cost. */
        UsageSummary: {
            /**
             * Format: uint64
             * @description Input tokens that the provider read from its cache.
             */
            cachedTokens: number;
            /**
             * Format: double
             * @description Known part of the cost in US dollars; null if no price is known.
             */
            costUsd: number | null;
            /**
             * Format: uint64
             * @description Input tokens.
             */
            inputTokens: number;
            /**
             * Format: uint64
             * @description Output tokens.
             */
            outputTokens: number;
        };
        /** @description A verdict about a call. Ordered: the strictest wins, so combining is `max`. */
        Verdict: "allow" | "ask" | "deny";
        /** @description An accepted call. */
        WebhookReceipt: {
            /** @description Id of the event that the call became. */
            eventId: components["schemas"]["EventId"];
            /** @description True if the call was accepted before; it then has no effect. */
            repeated: boolean;
            /**
             * Format: uint64
             * @description Sequence number of its entry.
             */
            seq: number;
        };
        /** @description A hypothetical message to decide about. */
        WhatIfBody: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the server or workspace. */
            guild?: string | null;
            /** @description Id of the peer: a person, a group or a channel. */
            peer?: string | null;
            /** @description Kind of peer: a direct message, a group or a channel. */
            peerKind?: components["schemas"]["PeerKind"] | null;
            /** @description Id of the sender on the channel. Default: an unknown sender. */
            sender?: string | null;
            /** @description Name of the sender on the channel. */
            senderName?: string | null;
            /** @description Text of the message. */
            text?: string | null;
            /**
             * Format: uint64
             * @description Time of the message, in milliseconds since 1970. Default: now.
             */
            time?: number | null;
        };
        /** @description The decision about a hypothetical message. */
        WhatIfResponse: {
            /** @description Outcome of each policy, in order of rank. */
            parts: components["schemas"]["PolicyEvaluation"][];
            /** @description Decision, in the form of the audit log. */
            record: components["schemas"]["AccessRecord"];
            /** @description Route that the message would take, in words. */
            route: string;
            /** @description Tools of this host, each with the permission of the sender. */
            tools: components["schemas"]["WhatIfTool"][];
        };
        /** @description The sender's permission for a tool. */
        WhatIfTool: {
            /** @description True if the sender may use the tool. */
            allowed: boolean;
            /** @description Name of the tool. */
            name: string;
            /** @description Reason, in words. */
            why: string;
        };
        /** @description Usage of the model's context window. */
        WindowUsage: {
            /**
             * Format: uint64
             * @description Tokens of the last request and its reply.
             */
            usedTokens: number;
            /**
             * Format: uint64
             * @description Size of the window, in tokens.
             */
            windowTokens: number;
        };
    };
    responses: {
        /** @description Error response */
        Refused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiErrorBody"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    postApiAccessWhatIf: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WhatIfBody"];
            };
        };
        responses: {
            /** @description Decision about a hypothetical message; nothing is recorded */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhatIfResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiAgents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All agents, and the diagnostics of the project */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentsResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiAgentsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An agent's resolved definition and prompt */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentDetails"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiAgentsIdHistory: {
        parameters: {
            query?: {
                /** @description Most commits in the list. Default: 50. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Commits of an agent's folder */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommitHistory"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiAgentsIdHistoryCommit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                commit: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A commit's changes in an agent's folder */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommitDetails"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiAgentsIdHistoryCommitRevert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                commit: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revert a commit's changes in an agent's folder with a new commit */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevertResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiApprovals: {
        parameters: {
            query?: {
                /** @description Most approvals in the list. Default: 100. */
                limit?: number;
                /** @description Waiting approvals, oldest first; or all, newest first. Default: waiting. */
                status?: components["schemas"]["ApprovalStatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Approvals that wait for a person, or all */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalsResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiApprovalsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An approval, with a diff of its changes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalDetails"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiApprovalsIdAnswer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerBody"];
            };
        };
        responses: {
            /** @description Answer an approval */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiArtifactsHash: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                hash: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Download of a file that the ledger keeps */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiAudit: {
        parameters: {
            query?: {
                /** @description Channel of the decisions. */
                channel?: string;
                /** @description Effect of the decisions: allow or deny. Default: both. */
                effect?: components["schemas"]["Effect"];
                /** @description Most decisions in the list; the newest count. Default: 100. */
                limit?: number;
                /** @description Policy that contributed to the decisions. */
                policy?: string;
                /** @description Principal of the decisions, by id or name. */
                principal?: string;
                /** @description Earliest time, in milliseconds since 1970. */
                since?: number;
                /** @description End of the time range (exclusive), in milliseconds since 1970. */
                until?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Access decisions, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionsResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiAuditId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An access decision, with its policies */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionDetails"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiEntries: {
        parameters: {
            query?: {
                /** @description Entries after this sequence number, the first of them. Not together with `before`. */
                after?: number;
                /** @description Entries before this sequence number, the last of them. Not together with `after`. */
                before?: number;
                /** @description True to include large fields and uncut texts. Default: false. */
                full?: boolean;
                /** @description Most entries in the page. Default: 500. */
                limit?: number;
                /** @description Only entries of this run. */
                run?: string;
                /** @description Only entries of this session. */
                session?: string;
                /** @description Only entries of this turn. */
                turn?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ledger entries, in order */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntryPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiEntriesSeq: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                seq: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A ledger entry, with all its fields */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiEntriesSeqWhy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                seq: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The decisions that led to an entry */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Provenance"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiGrants: {
        parameters: {
            query?: {
                /** @description True to include expired and revoked grants. Default: false. */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Grants: extra permissions for a limited time */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantsResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiGrantsIdRevoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevokeBody"];
            };
        };
        responses: {
            /** @description Revoke a grant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantSummary"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Health of the server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerHealth"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiInbounds: {
        parameters: {
            query?: {
                /** @description Most events in the list; the newest count. Default: 100. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Inbound events, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboundsResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginBody"];
            };
        };
        responses: {
            /** @description Sign in: exchange a code for a cookie */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentCaller"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiLogout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sign out */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogoutResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller, and the scopes of the key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentCaller"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiMessagesId: {
        parameters: {
            query?: {
                /** @description Time to wait until the message has a run or is settled, in milliseconds. Default: 0. */
                waitMs?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description State of a message */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageStatus"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiModels: {
        parameters: {
            query?: {
                /** @description Id of the agent. Default: none, only the settings count. */
                agent?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Models that an agent may use */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelsResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiOpenapiJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This OpenAPI document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenApiDocument"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiPolicies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All access policies and known entities */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyOverview"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiRequests: {
        parameters: {
            query?: {
                /** @description Most approvals in the list. Default: 100. */
                limit?: number;
                /** @description Waiting approvals, oldest first; or all, newest first. Default: waiting. */
                status?: components["schemas"]["ApprovalStatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Permission requests that wait, or all */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionRequestsResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiRuns: {
        parameters: {
            query?: {
                /** @description Runs after this one: `next` of the page before. */
                before?: string;
                /** @description Most runs in the page. Default: 50. */
                limit?: number;
                /** @description State of the listed runs. Default: any. */
                status?: components["schemas"]["RunStatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiRunsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A run, with its steps, turns and calls */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetails"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiRunsIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Cancel a run */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunControlReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiRunsIdEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events of a run as they happen; `Last-Event-ID` resumes the stream */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiRunsIdMode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModeBody"];
            };
        };
        responses: {
            /** @description Change the mode of a running run */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunControlReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiRunsIdReplay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Replay a run with the current program and files */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiRunsIdResume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Resume a run that no process works on */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunControlReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiSessions: {
        parameters: {
            query?: {
                /** @description Sessions after this one: `next` of the page before. */
                before?: string;
                /** @description Most sessions in the page. Default: 50. */
                limit?: number;
                /** @description Text to find in the key, agent or last prompt of a session. */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sessions, last used first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionStartBody"];
            };
        };
        responses: {
            /** @description Send a message to a new session */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiSessionsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A session, with the turns of its branch */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetails"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiSessionsIdCompact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompactionBody"];
            };
        };
        responses: {
            /** @description Summarize the older turns of a session; waits for the result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiSessionsIdMessages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageBody"];
            };
        };
        responses: {
            /** @description Send a message to a session */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiStats: {
        parameters: {
            query?: {
                /** @description Number of hours up to now. Default: 24. */
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Activity per time span */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiStream: {
        parameters: {
            query?: {
                /** @description Sequence number to start after; `Last-Event-ID` has priority. Default: new entries only. */
                after?: number;
                /** @description Also pieces of answers in progress, as `delta` events. Default: false. */
                deltas?: boolean;
                /** @description Only entries of this run; has priority over `session`. */
                run?: string;
                /** @description Only entries of this session. */
                session?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Entries as they are recorded; `Last-Event-ID` resumes the stream */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiTasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All tasks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TasksResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiTasksIdRuns: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskRunBody"];
            };
        };
        responses: {
            /** @description Run a task in a new session */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All keys */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyBody"];
            };
        };
        responses: {
            /** @description Create a key; its text is returned once */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiTokensIdRevoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoke a key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeySummary"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getApiTracesEventId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                eventId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trace of an event through all stages */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postApiTurnsIdFork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForkBody"];
            };
        };
        responses: {
            /** @description Fork a turn: start a new session that continues from it */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForkResponse"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counters for Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain; version=0.0.4": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postRun: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PromptBody"];
            };
        };
        responses: {
            /** @description Run a prompt; `Accept: text/event-stream` streams its events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    getRunMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events of the run that answers a message; `Last-Event-ID` resumes the stream */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postRunsIdApprovals: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GateAnswerBody"];
            };
        };
        responses: {
            /** @description Answer an approval of a run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunControlReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postRunsIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Cancel a run */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunControlReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    postWebhooksSource: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "*/*": string;
            };
        };
        responses: {
            /** @description Accept a call of a source that the settings name under `webhooks` */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReceipt"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
}

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
         * What would be decided about a message; nothing is recorded
         * @description For the owner, with a key that opens `audit`.
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
         * All agents, and what is wrong with the project
         * @description For the owner, with a key that opens `read`.
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
         * What an agent resolves to, and its prompt
         * @description For the owner, with a key that opens `read`.
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
         * The commits of an agent's folder
         * @description For the owner, with a key that opens `read`.
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
         * What a commit changed there
         * @description For the owner, with a key that opens `read`.
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
         * Take back what a commit changed there, with a commit
         * @description For the owner, with a key that opens `admin`. The key needs `approve` too.
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
         * Questions that wait for a person, or all
         * @description For the owner, with a key that opens `read`.
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
         * One question, with what would change
         * @description For the owner, with a key that opens `read`.
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
         * Answer a question
         * @description For the owner, with a key that opens `approve`.
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
         * A file that the record keeps, as a download
         * @description For the owner, with a key that opens `read`.
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
         * What was decided about who may, newest first
         * @description For the owner, with a key that opens `audit`.
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
         * The whole record of a decision
         * @description For the owner, with a key that opens `audit`.
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
         * Entries of the ledger, in order
         * @description With a key that opens `read`; each gets their own.
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
         * One entry, whole
         * @description For the owner, with a key that opens `read`.
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
         * @description For the owner, with a key that opens `read`.
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
         * Powers given for a time
         * @description For the owner, with a key that opens `read`.
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
         * Take a grant back
         * @description For the owner, with a key that opens `admin`.
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
         * How the server is
         * @description For the owner, with a key that opens `read`.
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
         * What came in, newest first
         * @description For the owner, with a key that opens `read`.
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
         * Turn a code into a cookie
         * @description Without a key.
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
         * @description With any key.
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
         * Who calls, and what the key opens
         * @description With any key.
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
         * What became of a message
         * @description With a key that opens `read`; each gets their own.
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
         * Which models an agent may use
         * @description For the owner, with a key that opens `read`.
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
         * This document
         * @description With a key that opens `read`; each gets their own.
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
         * The access policies, and who is known
         * @description For the owner, with a key that opens `read`.
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
         * What others ask for, or ever asked for
         * @description For the owner, with a key that opens `read`.
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
         * Runs, the newest first
         * @description For the owner, with a key that opens `read`.
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
         * @description With a key that opens `read`; each gets their own.
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
         * Ask a run to end
         * @description With a key that opens `submit`; each gets their own.
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
         * The events of a run as they come; `Last-Event-ID` goes on after a break
         * @description With a key that opens `read`; each gets their own.
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
         * Change the mode of a run under way
         * @description For the owner, with a key that opens `submit`. A key needs `approve` too for `mode`, `maxIterations` where it leaves fewer questions to a person.
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
         * Play a run to today's program and files
         * @description For the owner, with a key that opens `read`.
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
         * Take up a run that no process works on
         * @description For the owner, with a key that opens `submit`.
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
         * Sessions, the last used first
         * @description With a key that opens `read`; each gets their own.
         */
        get: operations["getApiSessions"];
        put?: never;
        /**
         * Say something in a session of its own
         * @description With a key that opens `submit`; each gets their own. A key needs `approve` too for `mode` where it leaves fewer questions to a person.
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
         * @description With a key that opens `read`; each gets their own.
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
         * Put the older turns of a session into one text, and wait for it
         * @description For the owner, with a key that opens `submit`.
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
         * Say something in a session
         * @description With a key that opens `submit`; each gets their own. A key needs `approve` too for `mode` where it leaves fewer questions to a person.
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
         * What was done, in spans of time
         * @description For the owner, with a key that opens `read`.
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
         * Entries as they are recorded; `Last-Event-ID` goes on after a break
         * @description With a key that opens `read`; each gets their own.
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
         * @description For the owner, with a key that opens `read`.
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
         * Have a task done, in a session of its own
         * @description For the owner, with a key that opens `submit`. A key needs `approve` too for `mode` where it leaves fewer questions to a person.
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
         * The keys that there are
         * @description For the owner, with a key that opens `admin`.
         */
        get: operations["getApiTokens"];
        put?: never;
        /**
         * Make a key; it is shown once
         * @description For the owner, with a key that opens `admin`.
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
         * Take a key back
         * @description For the owner, with a key that opens `admin`.
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
         * One event through all stages
         * @description For the owner, with a key that opens `read`.
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
         * Begin a new session that goes on from a turn
         * @description For the owner, with a key that opens `submit`.
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
         * @description For the owner, with a key that opens `read`.
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
         * Run a prompt; with `Accept: text/event-stream` its events follow
         * @description With a key that opens `submit`; each gets their own. A key needs `approve` too for `mode` where it leaves fewer questions to a person.
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
         * The events of the run that answers a message; `Last-Event-ID` goes on after a break
         * @description With a key that opens `read`; each gets their own.
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
         * Answer a question of a run
         * @description For the owner, with a key that opens `approve`.
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
         * Ask a run to end
         * @description With a key that opens `submit`; each gets their own.
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
         * Take a call of a program that the settings name under `webhooks`
         * @description Signed by who calls, or with a key that opens `submit`.
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
        /** @description A decision about who may reach an agent. */
        AccessId: string;
        /** @description One decision as the audit keeps it. */
        AccessRecord: {
            /** @description Which account of ours heard it. */
            account?: string | null;
            /** @description Where it was said. */
            channel: string;
            /** @description Which credentials may be used. */
            credentials: components["schemas"]["Credentials"];
            /** @description How much may be told. */
            data: components["schemas"]["AttributedDataLevel"];
            /** @description Why it was denied. */
            deny_reason?: components["schemas"]["DenyReason"] | null;
            /** @description The outcome. */
            effect: components["schemas"]["Effect"];
            /** @description The event, if there is one. */
            event_id?: components["schemas"]["EventId"] | null;
            /** @description Commands that a grant lets run. */
            exec?: components["schemas"]["AttributedName"][];
            /** @description The grants that were active. */
            grants?: components["schemas"]["GrantId"][];
            /** @description Which record. */
            id: components["schemas"]["AccessId"];
            /** @description The policies that matched, the first in rank first, each with its part. */
            matched: components["schemas"]["PolicyContribution"][];
            /** @description How it is handled. */
            modifiers?: components["schemas"]["Modifiers"];
            /** @description What the other side is. */
            peer_kind?: components["schemas"]["PeerKind"] | null;
            /** @description The policies that were looked at. */
            policies_evaluated: string[];
            /** @description Who it was. */
            principal: components["schemas"]["Principal"];
            /**
             * Format: double
             * @description How long it took, in milliseconds.
             */
            processing_time_ms: number;
            /** @description The tools that were there, sorted into two heaps. */
            resolved?: components["schemas"]["ResolvedTools"] | null;
            /** @description Who the channel says it was. */
            sender_identifier: string;
            /** @description Where it goes; the canonical session if no policy says. */
            session?: components["schemas"]["SessionChoice"] | null;
            /**
             * Format: uint64
             * @description When it was decided, in milliseconds since 1970.
             */
            timestamp: number;
            /** @description Which tools may be called. */
            tools: components["schemas"]["ToolBounds"];
        };
        /** @description An agent with all that is known of it. */
        AgentDetails: {
            /** @description The agent. */
            agent: components["schemas"]["AgentSummary"];
            /** @description What it resolves to, each value with its origin; empty if it does not load. */
            definition: components["schemas"]["DefinitionField"][];
            /** @description What is wrong with its files. */
            diagnostics: components["schemas"]["AgentDiagnostic"][];
            /** @description The voices that it may wear. */
            personas: components["schemas"]["PersonaSummary"][];
            /** @description Why there is no prompt, if there is none. */
            promptProblem: string | null;
            /** @description Its prompt, section by section, as a turn would begin with it. */
            sections: components["schemas"]["AgentPromptSection"][];
            /** @description Its skills. */
            skills: components["schemas"]["DefinitionSummary"][];
            /** @description The tasks that it may invoke. */
            tasks: components["schemas"]["DefinitionSummary"][];
            /** @description Its tools, and what its rules say of each. */
            tools: components["schemas"]["ToolSummary"][];
        };
        /** @description Something that is wrong with a file. */
        AgentDiagnostic: {
            /** @description What is wrong, for programs; `agentry explain` knows more. */
            code: string;
            /**
             * Format: uint
             * @description The column, from one.
             */
            column: number;
            /** @description The file. */
            file: string;
            /** @description What to do about it. */
            help: string | null;
            /**
             * Format: uint
             * @description The line, from one.
             */
            line: number;
            /** @description What is wrong, for people. */
            message: string;
            /** @description The excerpt with the place marked, as plain text. */
            rendered: string;
            /** @description error, warning or note. */
            severity: string;
        };
        /** @description One section of a prompt. */
        AgentPromptSection: {
            /**
             * Format: uint
             * @description Its length in bytes.
             */
            bytes: number;
            /** @description Why it is left out, if it is. */
            leftOut: string | null;
            /** @description Which one. */
            name: string;
            /** @description Where it begins. */
            origin: components["schemas"]["DefinitionLocation"] | null;
            /** @description Whether it belongs to the beginning that stays the same from turn to turn, so that it is paid once. */
            stable: boolean;
            /** @description Its text. */
            text: string;
            /** @description The name for people. */
            title: string;
            /**
             * Format: uint
             * @description About how many tokens it has.
             */
            tokens: number;
        };
        /** @description All agents. */
        AgentsResponse: {
            /** @description The agents, by id; those that do not load too. */
            agents: components["schemas"]["AgentSummary"][];
            /** @description What is wrong with the project. */
            diagnostics: components["schemas"]["AgentDiagnostic"][];
        };
        /** @description An agent in a list. */
        AgentSummary: {
            /** @description What it is for. */
            description: string | null;
            /**
             * Format: uint
             * @description How many errors its files have; one that has some may not load.
             */
            errors: number;
            /** @description Its first file. */
            file: string;
            /** @description Its id. */
            id: string;
            /** @description Whether it loads. */
            loads: boolean;
            /** @description The model that it gets; null if none can be asked. */
            model: string | null;
            /** @description What it is called. */
            name: string;
            /** @description Whether the owner looked at the programs that it brings, as they are now. */
            trusted: boolean;
            /**
             * Format: uint
             * @description How many warnings its files have.
             */
            warnings: number;
        };
        /** @description An answer. */
        AnswerBody: {
            /** @description Yes or no. */
            allow: boolean;
            /** @description The digest of the question that was looked at. */
            digest: string;
            /** @description Arguments that take the place of those of the call; only with a yes to this call. */
            edit?: unknown;
            /**
             * @description How far a yes reaches: a call once or for the session, a request once, for a day or always.
             * @default once
             */
            reach: components["schemas"]["ApprovalScope"];
            /** @description Why; told to the agent with a no. */
            reason?: string | null;
        };
        /** @description A question that was answered. */
        AnswerResponse: {
            /** @description The question, as it stands now. */
            approval: components["schemas"]["ApprovalDetails"];
            /** @description The command that goes on with its run, if no server does. */
            next: string | null;
        };
        /** @description Why a request is not done. */
        ApiError: {
            /** @description For programs. */
            code: components["schemas"]["ApiErrorCode"];
            /** @description For people: what to do. */
            hint: string | null;
            /** @description For people: what happened. */
            message: string;
        };
        /** @description What the answer to a refused request holds. */
        ApiErrorBody: {
            /** @description Why. */
            error: components["schemas"]["ApiError"];
        };
        /** @description What kind of refusal it is. */
        ApiErrorCode: "unauthenticated" | "forbidden" | "csrf" | "wrong_host" | "not_found" | "wrong_method" | "conflict" | "too_large" | "unsupported" | "invalid" | "rate_limited" | "timeout" | "unavailable" | "storage_full" | "internal";
        /** @description An answer. */
        ApprovalAnswer: {
            /** @description Yes or no. */
            allow: boolean;
            /** @description Where it was given: the channel, or the key to the server. */
            by?: string | null;
            /** @description Arguments that take the place of those of the call; only with a yes. */
            edit?: unknown;
            /** @description Nobody answered in time; it counts as a no, and not as a denial. */
            expired?: boolean;
            /**
             * @description How far a yes reaches.
             * @default once
             */
            reach: components["schemas"]["ApprovalScope"];
            /** @description Why; told to the model with a no. */
            reason?: string | null;
        };
        /** @description A question to a person about one call. */
        ApprovalDetails: {
            /** @description The agent. */
            agent: string | null;
            /** @description The answer, if there is one. */
            answer: components["schemas"]["ApprovalAnswer"] | null;
            /**
             * Format: uint64
             * @description When it was answered, in milliseconds since 1970.
             */
            answeredAt: number | null;
            /**
             * Format: uint64
             * @description When it was asked, in milliseconds since 1970.
             */
            askedAt: number;
            /**
             * Format: uint64
             * @description The entry that asked.
             */
            askedSeq: number;
            /**
             * Format: uint64
             * @description The same in bytes.
             */
            bytes: number;
            /** @description Its id. */
            callId: string;
            /**
             * Format: uint64
             * @description How long the command, or else the arguments as JSON, are in characters.
             */
            chars: number;
            /** @description What the call would change, as a unified diff; null in lists, and where nothing can be said. */
            diff: string | null;
            /** @description The hash of tool and arguments; an answer names it. */
            digest: string;
            /**
             * Format: uint64
             * @description From then on nobody can answer; null if it waits as long as its run.
             */
            expiresAt: number | null;
            /** @description What each stage said. */
            findings: components["schemas"]["StageFinding"][];
            /** @description Its id. */
            id: string;
            /** @description Its arguments. */
            input: unknown;
            /** @description call: may the agent make it; request: may somebody have it made who has no permission. */
            kind: string;
            /** @description The arguments as text in which everything can be seen: escaped, with long runs folded. */
            legible: string;
            /** @description What is easily overlooked: hosts that are not what they look like, mixed alphabets. */
            notes: string[];
            /** @description Why, in words. */
            reason: string;
            /** @description Who lacks the permission, if it is a request for one. */
            requester: components["schemas"]["Requester"] | null;
            /** @description How much harm a call of this tool can do: low, medium or high. */
            risk: components["schemas"]["Risk"];
            /** @description The rule that wants it so; null for what is built in. */
            rule: components["schemas"]["SourceQuote"] | null;
            /** @description The run. */
            runId: string | null;
            /** @description The session. */
            sessionId: string | null;
            /** @description waiting, allowed, denied, expired or withdrawn. */
            status: string;
            /** @description The tool. */
            tool: string;
            /** @description The turn. */
            turnId: string | null;
        };
        /** @description How far a yes reaches. */
        ApprovalScope: "once" | "session" | "day" | "always";
        /** @description Which questions are wanted. */
        ApprovalsQuery: {
            /**
             * Format: uint
             * @description At most so many.
             */
            limit?: number | null;
            /** @description Those that wait, the oldest first; or all, the newest first. Those that wait, if nothing is said. */
            status?: components["schemas"]["ApprovalStatusFilter"] | null;
        };
        /** @description Questions. */
        ApprovalsResponse: {
            /** @description The questions; without what they would change. */
            approvals: components["schemas"]["ApprovalDetails"][];
        };
        /** @description How a question that is wanted stands. */
        ApprovalStatusFilter: "waiting" | "all";
        /** @description How much may be told, and who says so. */
        AttributedDataLevel: {
            /** @description Who says so. */
            from: components["schemas"]["PermissionSource"];
            /** @description How much. */
            level: components["schemas"]["DataLevel"];
        };
        /** @description A name, and where it came from. */
        AttributedName: {
            /** @description Who says so. */
            from: components["schemas"]["PermissionSource"];
            /** @description The name. */
            name: string;
        };
        /** @description Which decisions are wanted: those that fit all that is said. */
        AuditQuery: {
            /** @description On this channel. */
            channel?: string | null;
            /** @description Only what was allowed, or only what was denied. */
            effect?: components["schemas"]["Effect"] | null;
            /**
             * Format: uint
             * @description At most so many, the newest.
             */
            limit?: number | null;
            /** @description In which this policy had a part. */
            policy?: string | null;
            /** @description About somebody, by id or name. */
            principal?: string | null;
            /**
             * Format: uint64
             * @description From this time on, in milliseconds since 1970.
             */
            since?: number | null;
            /**
             * Format: uint64
             * @description Before this time.
             */
            until?: number | null;
        };
        /** @description Who somebody is. */
        CallerIdentity: {
            /** @description The entity. */
            entityId: string | null;
            /** @description What kind of speaker it is. */
            kind: components["schemas"]["PrincipalKind"];
            /** @description What people call it. */
            name: string | null;
        };
        /** @description A channel. */
        ChannelHealth: {
            /** @description Whether its program runs and does not say that it is cut off. */
            connected: boolean;
            /** @description What went wrong last. */
            error: string | null;
            /**
             * Format: uint64
             * @description How many of its events the filters kept out.
             */
            filtered: number;
            /**
             * Format: uint64
             * @description When something came in last, in milliseconds since 1970.
             */
            lastEventAt: number | null;
            /** @description Its name. */
            name: string;
            /**
             * Format: uint64
             * @description When its program is started again.
             */
            nextTryAt: number | null;
            /**
             * Format: uint64
             * @description How many of its lines were refused.
             */
            refused: number;
            /**
             * Format: uint64
             * @description How often its program was started again.
             */
            restarts: number;
        };
        /** @description What a commit changed in a folder. */
        CommitDetails: {
            /** @description The commit. */
            commit: components["schemas"]["CommitSummary"];
            /** @description The files. */
            files: components["schemas"]["FileChange"][];
        };
        /** @description The commits of a folder. */
        CommitHistory: {
            /** @description The newest first. */
            commits: components["schemas"]["CommitSummary"][];
            /** @description Whether something in the folder is not committed. */
            dirty: boolean;
            /** @description Why there is no history, if there is none. */
            why: string | null;
        };
        /** @description How many commits are wanted. */
        CommitsQuery: {
            /**
             * Format: uint
             * @description At most so many.
             */
            limit?: number | null;
        };
        /** @description One commit. */
        CommitSummary: {
            /** @description Who wrote it. */
            author: string;
            /**
             * Format: uint
             * @description How many files of the folder it changed.
             */
            files: number;
            /** @description Its id. */
            id: string;
            /** @description The first line of its message. */
            summary: string;
            /**
             * Format: uint64
             * @description When, in milliseconds since 1970.
             */
            time: number;
        };
        /** @description What the summary is to be like. */
        CompactionBody: {
            /** @description What it gives most room to. */
            focus?: string | null;
        };
        /** @description What came of it. */
        CompactionResponse: {
            /** @description Whether there was anything to sum up. */
            compacted: boolean;
            /** @description The run that did it. */
            runId: string | null;
        };
        /** @description Which credentials may be used. */
        Credentials: {
            all: components["schemas"]["PermissionSource"];
        } | {
            named: components["schemas"]["AttributedName"][];
        };
        /** @description Who calls. */
        CurrentCaller: {
            /** @description Whether the server asks nobody for a key. */
            insecure: boolean;
            /** @description Who it is. */
            principal: components["schemas"]["CallerIdentity"];
            /** @description What the key opens. */
            scopes: components["schemas"]["TokenScope"][];
            /** @description The server. */
            server: components["schemas"]["ServerDescription"];
        };
        /** @description How much may be told to somebody, the least first. */
        DataLevel: "none" | "minimal" | "contextual" | "full";
        /** @description A decision with the policies that had a part in it. */
        DecisionDetails: {
            /** @description The policies, as they stand now; one that is gone is left out. */
            policies: components["schemas"]["PolicyExcerpt"][];
            /** @description The record. */
            record: components["schemas"]["AccessRecord"];
        };
        /** @description Decisions. */
        DecisionsResponse: {
            /** @description The newest first. */
            records: components["schemas"]["DecisionSummary"][];
        };
        /** @description A decision in a list. */
        DecisionSummary: {
            /** @description The channel. */
            channel: string;
            /** @description allow or deny. */
            effect: components["schemas"]["Effect"];
            /** @description The event that it is about. */
            eventId: string | null;
            /** @description Its id. */
            id: string;
            /** @description The kind of principal. */
            kind: string;
            /** @description What people call it. */
            name: string | null;
            /** @description The entity. */
            principal: string | null;
            /**
             * Format: uint64
             * @description The entry that holds it.
             */
            seq: number;
            /**
             * Format: uint64
             * @description When, in milliseconds since 1970.
             */
            time: number;
        };
        /** @description One value of an agent. */
        DefinitionField: {
            /** @description What it is. */
            field: string;
            /** @description What it belongs to, such as models or approval. */
            group: string;
            /** @description Where it was said; null for what is built in or set elsewhere. */
            origin: components["schemas"]["DefinitionLocation"] | null;
            /** @description Who said it, where no file did. */
            saidBy: string | null;
            /** @description The value, in words. */
            value: string;
        };
        /** @description A place in a definition. */
        DefinitionLocation: {
            /** @description The file, as people see it from the project's directory. */
            file: string;
            /**
             * Format: uint
             * @description The line, from one.
             */
            line: number;
        };
        /** @description Something with an id. */
        DefinitionSummary: {
            /** @description What it does. */
            description: string | null;
            /** @description Its id. */
            id: string;
        };
        /** @description How a message reaches a session that is busy. */
        Delivery: "steer" | "followup" | "collect" | "interrupt";
        /** @description Why an event was denied. */
        DenyReason: {
            /** @constant */
            kind: "policy";
            /** @description Its name. */
            policy: string;
        } | {
            /** @constant */
            kind: "nobody_allows";
        } | {
            /** @constant */
            kind: "missing_value";
            /** @description The policy with the key. */
            policy: string;
            /** @description What is not known. */
            variable: string;
        } | {
            /** @constant */
            kind: "key_too_long";
            /** @description The policy with the key. */
            policy: string;
        };
        /** @description Whether an event may reach an agent. */
        Effect: "allow" | "deny";
        /** @description How a turn or a run ended. */
        Ending: "done" | "failed" | "denied" | "limit_reached" | "model_failed" | "cancelled";
        /** @description A page of entries. */
        EntryPage: {
            /** @description They, in order. */
            entries: unknown[];
            /**
             * Format: uint64
             * @description The first of them.
             */
            first: number | null;
            /**
             * Format: uint64
             * @description The last of them.
             */
            last: number | null;
            /** @description Whether there is more in the direction that was asked for. */
            more: boolean;
        };
        /** @description Which entries are wanted. */
        EntryQuery: {
            /**
             * Format: uint64
             * @description Those after this one.
             */
            after?: number | null;
            /**
             * Format: uint64
             * @description Those before this one; the last of them.
             */
            before?: number | null;
            /** @description With all that they have. */
            full?: boolean | null;
            /**
             * Format: uint
             * @description At most so many.
             */
            limit?: number | null;
            /** @description Of this run. */
            run?: string | null;
            /** @description Of this session. */
            session?: string | null;
            /** @description Of this turn. */
            turn?: string | null;
        };
        /** @description Which entries somebody listens to. */
        EntryStreamQuery: {
            /**
             * Format: uint64
             * @description Those after this one; the header `Last-Event-ID` wins. Without either, those from now on.
             */
            after?: number | null;
            /** @description Also pieces of answers under way. */
            deltas?: boolean | null;
            /** @description Those of this run. */
            run?: string | null;
            /** @description Those of this session. */
            session?: string | null;
        };
        /** @description The id of an event: `{channel}:{source_id}`. */
        EventId: string;
        /** @description What a commit changed in a file. */
        FileChange: {
            /** @description Whether the diff is longer than it is shown. */
            cut: boolean;
            /** @description The change, as a unified diff; empty for what is no text. */
            diff: string;
            /** @description The file, below the folder. */
            path: string;
            /** @description added, deleted, modified or changed. */
            status: string;
        };
        /** @description What the new session is to be called. */
        ForkBody: {
            /** @description Its name; made up if none is said. */
            key?: string | null;
        };
        /** @description A session that was begun. */
        ForkResponse: {
            /** @description What people call it. */
            key: string;
            /** @description Which one. */
            sessionId: string;
        };
        /** @description An answer, as seed 003's clients give it. */
        GateAnswerBody: {
            /** @description Whether the call may be made. */
            allow: boolean;
            /** @description The question. */
            gateId: string;
            /** @description Why not. */
            reason?: string | null;
            /** @description Whether a yes holds for the same call for the rest of the session. */
            session?: boolean | null;
        };
        /** @description A power given for a time. */
        GrantId: string;
        /** @description Which grants are wanted. */
        GrantsQuery: {
            /** @description Also those that are over or were taken back. */
            all?: boolean | null;
        };
        /** @description Grants. */
        GrantsResponse: {
            /** @description The newest first. */
            grants: components["schemas"]["GrantSummary"][];
        };
        /** @description A power given for a time. */
        GrantSummary: {
            /** @description Whether it holds now. */
            active: boolean;
            /** @description Only on this channel. */
            channel: string | null;
            /**
             * Format: uint64
             * @description When it was given, in milliseconds since 1970.
             */
            createdAt: number;
            /**
             * Format: uint64
             * @description When it ends.
             */
            expiresAt: number | null;
            /** @description Who gave it. */
            grantedBy: string;
            /** @description Its id. */
            id: string;
            /** @description To whom, such as person:mom. */
            principal: string;
            /** @description Why. */
            reason: string | null;
            /** @description The request that it was asked for with. */
            request: string | null;
            /** @description What, such as tool:web_fetch. */
            resources: string[];
            /**
             * Format: uint64
             * @description When it was taken back.
             */
            revokedAt: number | null;
            /** @description Only in the session with this key. */
            session: string | null;
        };
        /** @description Hooks that look at events. */
        HookHealth: {
            /**
             * Format: uint64
             * @description How many are set off.
             */
            enabled: number;
            /**
             * Format: uint64
             * @description How many of them failed last, or are left alone for a while because they did.
             */
            failing: number;
        };
        /** @description How many rows are wanted. */
        InboundsQuery: {
            /**
             * Format: uint
             * @description At most so many, the newest.
             */
            limit?: number | null;
        };
        /** @description What came in. */
        InboundsResponse: {
            /** @description The newest first. */
            inbounds: components["schemas"]["InboundSummary"][];
        };
        /** @description Something that came in, or that was sent. */
        InboundSummary: {
            /** @description The channel. */
            channel: string;
            /** @description Its id. */
            eventId: string;
            /** @description The run that is about it. */
            runId: string | null;
            /** @description Who said it: the name that the channel gives, else its id of them. */
            sender: string;
            /**
             * Format: uint64
             * @description The entry that it came in with.
             */
            seq: number;
            /** @description The session that it went to. */
            sessionId: string | null;
            /** @description How far it is: received, denied, waiting, running, answered and so on. */
            status: string;
            /** @description The beginning of what was said. */
            text: string;
            /**
             * Format: uint64
             * @description When that was written, in milliseconds since 1970.
             */
            time: number;
            /** @description Why it has no turn, if it has none. */
            why: string | null;
        };
        /** @description What a key is to be. */
        KeyBody: {
            /** @description The entity that speaks with it; the owner if none is named. */
            entityId?: string | null;
            /** @description What people call it. */
            name: string;
            /** @description What it opens; not more than the key that makes it. */
            scopes: components["schemas"]["TokenScope"][];
            /**
             * Format: uint64
             * @description How long it holds, in milliseconds; until it is taken back if nothing is said.
             */
            validMs?: number | null;
        };
        /** @description A key that was just made. */
        KeyResponse: {
            /** @description The key, as it is sent; it is never shown again. */
            key: string;
            /** @description What is recorded of it. */
            token: components["schemas"]["KeySummary"];
        };
        /** @description Keys. */
        KeysResponse: {
            /** @description They, the oldest first. */
            tokens: components["schemas"]["KeySummary"][];
        };
        /** @description A key, without what would open anything. */
        KeySummary: {
            /**
             * Format: uint64
             * @description When it was made.
             */
            createdAt: number;
            /** @description The entity that speaks with it; null is the owner. */
            entityId: string | null;
            /**
             * Format: uint64
             * @description Until when it holds.
             */
            expiresAt: number | null;
            /** @description Which one. */
            id: string;
            /** @description bearer, cookie or code. */
            kind: string;
            /** @description What people call it. */
            name: string;
            /**
             * Format: uint64
             * @description When it was taken back.
             */
            revokedAt: number | null;
            /** @description What it opens. */
            scopes: components["schemas"]["TokenScope"][];
        };
        /** @description The last run of a session. */
        LastRun: {
            /** @description Which one. */
            id: string;
            /** @description The mode. */
            mode: string;
            /** @description The model. */
            model: string;
            /** @description How it stands. */
            status: string;
        };
        /** @description The record. */
        LedgerHealth: {
            /**
             * Format: uint64
             * @description How large its file is.
             */
            bytes: number;
            /** @description Where it is. */
            home: string;
            /**
             * Format: uint64
             * @description The last entry.
             */
            lastSeq: number;
        };
        /** @description A code that `agentry console` made. */
        LoginBody: {
            /** @description The code. */
            code: string;
        };
        /** @description Nothing is left. */
        LogoutResponse: Record<string, never>;
        /** @description A key by which a policy says whom and when it concerns. */
        MatchKey: "is_user" | "relationship" | "tags" | "person_id" | "unknown" | "system" | "webhook" | "agent" | "channel" | "peer_kind" | "account" | "guild" | "time" | "hook_id" | "event_type";
        /** @description What is said in a session. */
        MessageBody: {
            /** @description How it reaches a busy session: steer, followup, collect or interrupt. */
            delivery?: string | null;
            /** @description The mode, if it begins a run; `wiggum` needs a key that opens `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description The model, if it begins a run. */
            model?: string | null;
            /** @description What is said. */
            text: string;
        };
        /** @description How long somebody waits for a message. */
        MessageQuery: {
            /**
             * Format: uint64
             * @description How long to wait until it has a session or is settled, in milliseconds.
             */
            waitMs?: number | null;
        };
        /** @description Something that was taken in. */
        MessageReceipt: {
            /** @description The message. */
            eventId: components["schemas"]["EventId"];
            /**
             * Format: uint64
             * @description Its entry.
             */
            seq: number;
        };
        /** @description What became of a message. */
        MessageStatus: {
            /** @description What was answered. */
            answer: string | null;
            /** @description The message. */
            eventId: components["schemas"]["EventId"];
            /** @description The run that answers it. */
            runId: string | null;
            /** @description Its session. */
            sessionId: string | null;
            /** @description How far it is. */
            status: string;
            /** @description Why it has no turn. */
            why: string | null;
        };
        /** @description The mode that is wanted. */
        ModeBody: {
            /**
             * Format: uint32
             * @description The most iterations from now on; needs a key that opens `approve`.
             */
            maxIterations?: number | null;
            /** @description The mode; `wiggum` needs a key that opens `approve`. */
            mode: components["schemas"]["ModeSchema"];
        };
        /** @description One model. */
        ModelAvailability: {
            /** @description Whether the agent may use it and the provider can be asked. */
            allowed: boolean;
            /** @description Whether it is the one that the agent gets. */
            default: boolean;
            /** @description The provider and the model, as they are asked for. */
            name: string;
            /** @description The provider. */
            provider: string;
            /** @description Why it is not to be had, if it is not. */
            why: string | null;
        };
        /** @description Which agent is meant. */
        ModelsQuery: {
            /** @description The agent; models of the settings alone, if none is named. */
            agent?: string | null;
        };
        /** @description Models. */
        ModelsResponse: {
            /** @description Those that are known. */
            models: components["schemas"]["ModelAvailability"][];
        };
        /** @description How a mode is written. */
        ModeSchema: "structured" | "wiggum";
        /** @description How an event is handled. */
        Modifiers: {
            /** @description Whether the answer waits until the quiet time is over. */
            delay_response?: components["schemas"]["Said_boolean"] | null;
            /** @description How it reaches a busy session. */
            delivery?: components["schemas"]["Said_Delivery"] | null;
        };
        /** @description Names or patterns with `*` and `?`, from one policy or grant. */
        NameList: {
            /** @description Who says so. */
            from: components["schemas"]["PermissionSource"];
            /** @description The names. */
            names: string[];
        };
        /** @description A route that takes no query or no body. */
        NoParams: Record<string, never>;
        /** @description The schema of an answer that is not ours to describe. */
        OpenApiDocument: unknown;
        /** @description What the other side is. */
        PeerKind: "dm" | "group" | "channel";
        /** @description Requests for permission. */
        PermissionRequestsResponse: {
            /** @description The requests; those that wait are answered as approvals. */
            requests: components["schemas"]["ApprovalDetails"][];
        };
        /** @description Who gave a power. */
        PermissionSource: {
            policy: string;
        } | {
            grant: components["schemas"]["GrantId"];
        } | "default";
        /** @description Somebody who is known. */
        Person: {
            /** @description The id that policies and grants name. */
            id: string;
            /** @description Who it is on each channel. */
            identities: components["schemas"]["PersonIdentity"][];
            /** @description Whether it is the owner. */
            isUser: boolean;
            /** @description What people call it. */
            name: string;
            /** @description What it is to the owner. */
            relationship: string | null;
            /** @description Words that policies and grants may ask for. */
            tags: string[];
        };
        /** @description A voice. */
        PersonaSummary: {
            /** @description The first line of its text. */
            description: string | null;
            /** @description Its id. */
            id: string;
            /** @description Whether it is worn unless somebody says otherwise. */
            isDefault: boolean;
            /** @description What it is called. */
            name: string;
        };
        /** @description Who somebody is on one channel. */
        PersonIdentity: {
            /** @description Our account that knows them so; null means any. */
            account: string | null;
            /** @description The channel. */
            channel: string;
            /** @description The channel's id of them. */
            identifier: string;
        };
        /** @description One policy's part in a decision. */
        PolicyContribution: {
            /** @description Its part. */
            part: components["schemas"]["PolicyOutcome"];
            /** @description The policy. */
            policy: string;
        };
        /** @description What one policy says. */
        PolicyEvaluation: {
            /** @description Whether it had a say. */
            matched: boolean;
            /** @description Its part, in words. */
            part: string;
            /** @description The policy. */
            policy: string;
        };
        /** @description A policy, as far as a decision names it. */
        PolicyExcerpt: {
            /** @description Whether it lets through or stops. */
            effect: components["schemas"]["Effect"];
            /** @description Its file; one that ships has a name that is no path. */
            file: string;
            /**
             * Format: uint
             * @description The line, from one.
             */
            line: number;
            /** @description Its name. */
            name: string;
            /** @description Its text, as it stands in the file. */
            text: string;
        };
        /** @description What a policy did. */
        PolicyOutcome: "disabled" | {
            not_matched: components["schemas"]["MatchKey"];
        } | "allowed" | "denied" | "modified";
        /** @description Policies and people. */
        PolicyOverview: {
            /** @description All who are known. */
            people: components["schemas"]["Person"][];
            /** @description All policies, the first in rank first. */
            policies: components["schemas"]["PolicySummary"][];
        };
        /** @description A policy. */
        PolicySummary: {
            /** @description What it is for. */
            description: string | null;
            /** @description Whether it lets through or stops. */
            effect: components["schemas"]["Effect"];
            /** @description Whether it holds. */
            enabled: boolean;
            /** @description Its file; one that ships has a name that is no path. */
            file: string;
            /** @description What it gives: tools, credentials, data, the session and how messages wait. */
            grants: unknown;
            /**
             * Format: uint64
             * @description When it last had one, in milliseconds since 1970.
             */
            lastUsedAt: number | null;
            /**
             * Format: uint
             * @description The line, from one.
             */
            line: number;
            /** @description Whom it concerns, where and when, in words. */
            matches: string;
            /** @description Its name. */
            name: string;
            /**
             * Format: uint8
             * @description The higher, the earlier.
             */
            priority: number;
            /** @description Its text, as it stands in the file. */
            text: string;
            /**
             * Format: uint64
             * @description In how many decisions that are kept it had a part.
             */
            uses: number;
        };
        /** @description Who speaks. */
        Principal: {
            /** @description The agent, for an agent. */
            agent_id?: string | null;
            /** @description The entity, when it is known. */
            entity_id?: string | null;
            /** @description What kind of speaker it is. */
            kind: components["schemas"]["PrincipalKind"];
            /** @description What the owner calls it. */
            name?: string | null;
            /** @description What it is to the owner: `partner`, `family`, `friend`, `work`. */
            relationship?: string | null;
            /** @description The program, for a webhook. */
            source?: string | null;
            /** @description The owner's words for it. */
            tags?: string[];
        };
        /** @description What kind of speaker it is. */
        PrincipalKind: "owner" | "known" | "unknown" | "system" | "webhook" | "agent";
        /** @description The process. */
        ProcessHealth: {
            /**
             * Format: uint64
             * @description How much memory it has; null where the system does not say.
             */
            rssBytes: number | null;
            /**
             * Format: uint64
             * @description When it began, in milliseconds since 1970.
             */
            startedAt: number;
            /**
             * Format: uint64
             * @description How many streams of events it has open.
             */
            streams: number;
            /**
             * Format: uint64
             * @description How many threads it has; null where the system does not say.
             */
            threads: number | null;
        };
        /** @description A prompt, as seed 003 has it, and what else may be said about the run. */
        PromptBody: {
            /** @description Who is to answer. Only for the owner. */
            agent?: string | null;
            /** @description The mode. Only for the owner; `wiggum` needs a key that opens `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description The model. Only for the owner. */
            model?: string | null;
            /** @description What is said. */
            prompt: string;
            /** @description The session, by its name; one of its own if none is named. Only for the owner. */
            session?: string | null;
        };
        /** @description Why something happened. */
        Provenance: {
            /** @description What led to it, in the order in which one led to the other. */
            links: components["schemas"]["ProvenanceLink"][];
            /**
             * Format: uint64
             * @description The entry.
             */
            seq: number;
        };
        /** @description One step on the way to an entry. */
        ProvenanceLink: {
            /** @description What there is to know. */
            detail: string;
            /**
             * Format: uint64
             * @description The entry that says it; null for what only follows from one.
             */
            seq: number | null;
            /** @description What kind of step it is. */
            stage: components["schemas"]["ProvenanceStage"];
            /** @description What stands there now; null if the file has no such line any more. */
            text: string | null;
            /** @description What it is, in a few words. */
            title: string;
            /** @description What was decided, if it is a decision. */
            verdict: components["schemas"]["Verdict"] | null;
            /** @description The rule that said so. */
            where: components["schemas"]["DefinitionLocation"] | null;
        };
        /** @description What kind of step it is. */
        ProvenanceStage: "received" | "access" | "grant" | "route" | "agent" | "rule" | "guard" | "hook" | "approval" | "confinement" | "result";
        /** @description Who serves models. */
        ProviderHealth: {
            /** @description Whether it can be asked. */
            configured: boolean;
            /** @description What it speaks. */
            kind: string;
            /**
             * Format: uint
             * @description How many models it is known to have.
             */
            models: number;
            /** @description Its name in the settings. */
            name: string;
            /** @description Why it cannot be asked. */
            problem: string | null;
        };
        /** @description Something that waits. */
        QueuedMessage: {
            /** @description How it reaches a busy session. */
            delivery: string | null;
            /** @description The message. */
            eventId: string;
            /** @description By whom. */
            from: string;
            /**
             * Format: uint64
             * @description When.
             */
            receivedAt: number;
            /** @description What was said. */
            text: string;
        };
        /** @description What runs and waits. */
        QueueHealth: {
            /**
             * Format: uint64
             * @description Runs that wait for a person.
             */
            paused: number;
            /**
             * Format: uint64
             * @description Runs under way.
             */
            running: number;
            /**
             * Format: uint
             * @description How many turns run at once at most.
             */
            runningMax: number;
            /**
             * Format: uint64
             * @description Answers that are to be sent.
             */
            undelivered: number;
            /**
             * Format: uint64
             * @description Messages that wait.
             */
            waiting: number;
        };
        /** @description What came of a replay. */
        ReplayResponse: {
            /** @description Whether every move is the same. */
            identical: boolean;
            /**
             * Format: uint64
             * @description How many are, before the first that is not.
             */
            moves: number;
            /** @description What was recorded there. */
            recorded: string | null;
            /** @description What would be done today. */
            today: string | null;
        };
        /** @description Who lacks a permission. */
        Requester: {
            /** @description Where they wrote. */
            channel: string;
            /** @description The kind of principal. */
            kind: string;
            /** @description What they wrote. */
            message: string;
            /** @description What people call them. */
            name: string;
            /** @description Why they lack it. */
            reason: string;
            /** @description What a yes that lasts would give. */
            resources: string[];
        };
        /** @description The tools that were there when it was decided. */
        ResolvedTools: {
            /** @description Those that may be called. */
            tools_allowed: string[];
            /** @description Those that may not. */
            tools_denied: string[];
        };
        /** @description A change that was taken back. */
        RevertResponse: {
            /** @description The commit that takes it back. */
            commit: string;
        };
        /** @description Why a grant is taken back. */
        RevokeBody: {
            /** @description Why. */
            reason?: string | null;
        };
        /** @description How much harm a call can do; shown with an approval, decides nothing by itself. */
        Risk: "low" | "medium" | "high";
        /** @description A call of a tool. */
        RunCall: {
            /**
             * Format: uint64
             * @description The entry that settled it.
             */
            finishedSeq: number | null;
            /** @description Which one. */
            id: string;
            /**
             * Format: uint64
             * @description The entry that proposed it.
             */
            proposedSeq: number;
            /**
             * Format: uint64
             * @description The entry that started it.
             */
            startedSeq: number | null;
            /** @description How it stands. */
            status: string;
            /** @description The tool. */
            tool: string;
            /** @description Its turn. */
            turnId: string | null;
        };
        /** @description What was asked of a run. */
        RunControlReceipt: {
            /**
             * Format: uint64
             * @description The entry.
             */
            seq: number;
        };
        /** @description A run with what it consists of. */
        RunDetails: {
            /** @description The calls of tools, in the order they were proposed. */
            calls: components["schemas"]["RunCall"][];
            /** @description The run. */
            run: components["schemas"]["RunSummary"];
            /** @description The steps of its task, in order. */
            steps: components["schemas"]["RunStep"][];
            /** @description What took time, in the order it began. */
            timeline: components["schemas"]["TimelineSpan"][];
            /** @description Its turns, in the order they began. */
            turns: components["schemas"]["TurnSummary"][];
        };
        /** @description A page of runs. */
        RunPage: {
            /** @description What to say as `before` for the next page; null if there is none. */
            next: string | null;
            /** @description They. */
            runs: components["schemas"]["RunSummary"][];
        };
        /** @description Which runs are wanted. */
        RunsQuery: {
            /** @description Those after this run, which ended the page before. */
            before?: string | null;
            /**
             * Format: uint
             * @description At most so many.
             */
            limit?: number | null;
            /** @description Those that stand so. */
            status?: components["schemas"]["RunStatusFilter"] | null;
        };
        /**
         * @description How a run stands.
         * @enum {string}
         */
        RunStatusFilter: "planned" | "running" | "paused_for_approval" | "completed" | "failed" | "canceled";
        /** @description A step of a task. */
        RunStep: {
            /** @description Who does it. */
            agent: string;
            /** @description Its name. */
            id: string;
            /**
             * Format: uint32
             * @description Its place, from zero.
             */
            index: number;
            /** @description How it stands. */
            status: string;
            /** @description The last turn that worked on it. */
            turnId: string | null;
            /** @description What it uses. */
            uses: string;
        };
        /** @description A run. */
        RunSummary: {
            /** @description Who does it. */
            agent: string;
            /**
             * Format: uint64
             * @description When it came to be.
             */
            createdAt: number;
            /**
             * Format: uint64
             * @description When it ended.
             */
            endedAt: number | null;
            /** @description How it ended. */
            ending: components["schemas"]["Ending"] | null;
            /** @description Which one. */
            id: string;
            /** @description The mode. */
            mode: string;
            /** @description The model. */
            model: string;
            /** @description The beginning of what was asked. */
            prompt: string;
            /** @description Its session. */
            sessionId: string | null;
            /** @description How it stands. */
            status: string;
            /** @description The task, if it is one. */
            task: string | null;
            /** @description What it cost. */
            usage: components["schemas"]["UsageSummary"];
        };
        /** @description A value, and the policy that says it. */
        Said_boolean: {
            /** @description The policy. */
            policy: string;
            /** @description The value. */
            value: boolean;
        };
        /** @description A value, and the policy that says it. */
        Said_Delivery: {
            /** @description The policy. */
            policy: string;
            /** @description The value. */
            value: components["schemas"]["Delivery"];
        };
        /** @description Something that was tried. */
        SandboxCheck: {
            /** @description What came of it. */
            detail: string;
            /** @description What. */
            name: string;
            /** @description Whether it is as it should be. */
            ok: boolean;
        };
        /** @description What confines the processes of agents. */
        SandboxHealth: {
            /** @description What was tried, and what limits are worth. */
            checks: components["schemas"]["SandboxCheck"][];
            /** @description The release of the kernel, if a sandbox was tried. */
            kernel: string | null;
            /** @description ns, bwrap, seatbelt or landlock; off if the operator wants none; missing if there is none. */
            level: string;
        };
        /** @description The server. */
        ServerDescription: {
            /** @description The directory of the definitions; only for the owner. */
            project: string | null;
            /** @description What confines the programs of agents. */
            sandbox: string;
            /**
             * Format: uint64
             * @description When it began.
             */
            startedAt: number;
            /** @description Its version. */
            version: string;
        };
        /** @description How the server is. */
        ServerHealth: {
            /** @description Where messages come in. */
            channels: components["schemas"]["ChannelHealth"][];
            /** @description Hooks that look at events. */
            hooks: components["schemas"]["HookHealth"];
            /** @description The record. */
            ledger: components["schemas"]["LedgerHealth"];
            /** @description What is not as it should be, in words. */
            problems: string[];
            /** @description The process. */
            process: components["schemas"]["ProcessHealth"];
            /** @description Who serves models. */
            providers: components["schemas"]["ProviderHealth"][];
            /** @description What runs and waits. */
            queue: components["schemas"]["QueueHealth"];
            /** @description What confines the processes of agents. */
            sandbox: components["schemas"]["SandboxHealth"];
            /** @description ok, or degraded if there are problems. */
            status: string;
            /** @description What works, and holds less than it could, in words. */
            warnings: string[];
        };
        /** @description Where an event goes. */
        SessionChoice: {
            /** @description The session's key, with all values in their places. */
            key: string;
            /** @description Who answers there. */
            persona?: string | null;
            /** @description The policy that says so. */
            policy: string;
        };
        /** @description A session with its turns. */
        SessionDetails: {
            /** @description The turns of its branch, the oldest first; of a long branch the last ones. */
            branch: components["schemas"]["TurnSummary"][];
            /** @description How much of the model's window the last request took. */
            context: components["schemas"]["WindowUsage"] | null;
            /** @description What waits for its turn. */
            queue: components["schemas"]["QueuedMessage"][];
            /** @description The session. */
            session: components["schemas"]["SessionSummary"];
        };
        /** @description A page of sessions. */
        SessionPage: {
            /** @description What to say as `before` for the next page; null if there is none. */
            next: string | null;
            /** @description They. */
            sessions: components["schemas"]["SessionSummary"][];
        };
        /** @description Which sessions are wanted. */
        SessionsQuery: {
            /** @description Those after this session, which ended the page before. */
            before?: string | null;
            /**
             * Format: uint
             * @description At most so many.
             */
            limit?: number | null;
            /** @description Those whose name, agent or last prompt has this text. */
            q?: string | null;
        };
        /** @description What begins a session. */
        SessionStartBody: {
            /** @description Who is to answer. */
            agent?: string | null;
            /** @description What the session is to be called. */
            key?: string | null;
            /** @description The mode; `wiggum` needs a key that opens `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description The model. */
            model?: string | null;
            /** @description What is said. */
            text: string;
        };
        /** @description A session. */
        SessionSummary: {
            /** @description Who it is with. */
            agent: string;
            /**
             * Format: uint
             * @description How many questions wait for a person.
             */
            approvals: number;
            /**
             * Format: uint64
             * @description When it was opened.
             */
            createdAt: number;
            /** @description Which one. */
            id: string;
            /** @description What people call it. */
            key: string;
            /**
             * Format: uint64
             * @description The last entry about it.
             */
            lastSeq: number;
            /** @description Its last run. */
            run: components["schemas"]["LastRun"] | null;
            /** @description idle, running, waiting, queued or failed. */
            state: string;
            /** @description The beginning of what was last asked. */
            title: string;
            /**
             * Format: uint64
             * @description How many turns its branch has.
             */
            turns: number;
            /**
             * Format: uint64
             * @description When a turn last began or ended.
             */
            updatedAt: number;
            /** @description What it cost. */
            usage: components["schemas"]["UsageSummary"];
            /**
             * Format: uint
             * @description How many messages wait.
             */
            waiting: number;
        };
        /** @description A place in a definition, with what stands there. */
        SourceQuote: {
            /** @description The file. */
            file: string;
            /**
             * Format: uint
             * @description The line, from one.
             */
            line: number;
            /** @description What the line says now; null if the file has no such line any more. */
            text: string | null;
        };
        /** @description What one stage said about a call. */
        StageFinding: {
            /** @description The rule that said so, as `file:line`, or `built-in` and its name. */
            rule: string | null;
            /** @description The stage: registered, input, access, scope, sandbox, tool access, rules, danger or hook. */
            source: string;
            /** @description allow, ask or deny. */
            verdict: string;
            /** @description Why, in words. */
            why: string;
        };
        /** @description What was done, in spans of time. */
        Stats: {
            /**
             * Format: uint64
             * @description How long each span is.
             */
            bucketMs: number;
            /** @description The spans, the oldest first; those in which nothing happened too. */
            buckets: components["schemas"]["StatsBucket"][];
        };
        /** @description What was done in a span of time. */
        StatsBucket: {
            /**
             * Format: uint64
             * @description Calls that were made.
             */
            calls: number;
            /**
             * Format: double
             * @description What is known of the cost.
             */
            costUsd: number;
            /**
             * Format: uint64
             * @description Entries that were written.
             */
            events: number;
            /**
             * Format: uint64
             * @description Runs that did not do what they should.
             */
            failed: number;
            /**
             * Format: uint64
             * @description Tokens that models read.
             */
            inputTokens: number;
            /**
             * Format: uint64
             * @description Tokens that models wrote.
             */
            outputTokens: number;
            /**
             * Format: uint64
             * @description When it begins, in milliseconds since 1970.
             */
            t: number;
            /**
             * Format: uint64
             * @description Turns that ended.
             */
            turns: number;
        };
        /** @description How far back. */
        StatsQuery: {
            /**
             * Format: uint64
             * @description So many hours; a day, if nothing is said.
             */
            hours?: number | null;
        };
        /** @description An input of a task. */
        TaskInput: {
            /** @description The value when none is given; without it the input is required. */
            default: string | null;
            /** @description What it is. */
            description: string;
            /** @description Its name. */
            name: string;
        };
        /** @description What a task is to be done with. */
        TaskRunBody: {
            /** @description Who does the steps that name nobody. */
            agent?: string | null;
            /**
             * @description Its inputs, by name; those with a default may be left out.
             * @default {}
             */
            inputs: {
                [key: string]: string;
            };
            /** @description The mode; `wiggum` needs a key that opens `approve`. */
            mode?: components["schemas"]["ModeSchema"] | null;
            /** @description The model. */
            model?: string | null;
        };
        /** @description Tasks. */
        TasksResponse: {
            /** @description All that load. */
            tasks: components["schemas"]["TaskSummary"][];
        };
        /** @description One task. */
        TaskSummary: {
            /** @description The agent of its first step; null means the one that is asked. */
            agent: string | null;
            /** @description What it does. */
            description: string | null;
            /** @description Its id. */
            id: string;
            /** @description What it is given. */
            inputs: components["schemas"]["TaskInput"][];
        };
        /** @description Something that took time. */
        TimelineSpan: {
            /** @description The call. */
            callId: string | null;
            /**
             * Format: uint64
             * @description When it ended; null while it goes on.
             */
            endedAt: number | null;
            /**
             * Format: uint64
             * @description Tokens that the model read.
             */
            inputTokens: number | null;
            /** @description model, tool, approval, hook or check. */
            kind: string;
            /** @description What, in a word. */
            label: string;
            /**
             * Format: uint64
             * @description Tokens that the model wrote.
             */
            outputTokens: number | null;
            /**
             * Format: uint64
             * @description The entry it began with.
             */
            seq: number;
            /**
             * Format: uint64
             * @description When it began.
             */
            startedAt: number;
            /** @description running, done, or what became of it. */
            status: string;
            /** @description The turn. */
            turnId: string | null;
        };
        /** @description What a key opens. None of them holds another. */
        TokenScope: "read" | "submit" | "approve" | "admin" | "audit" | "executor";
        /** @description Which tools may be called, as lists that are asked in turn. */
        ToolBounds: {
            /** @description A tool on one of these is allowed. */
            allow?: components["schemas"]["NameList"][];
            /** @description A tool must be on each of these. */
            ceilings?: components["schemas"]["NameList"][];
            /** @description A tool on one of these is refused, whatever else holds. */
            deny?: components["schemas"]["NameList"][];
            /** @description A tool on one of these is allowed by a grant unless it is denied by name. */
            granted?: components["schemas"]["NameList"][];
            /** @description A tool must be on each of these, since a policy denies all others. */
            only?: components["schemas"]["NameList"][];
        };
        /** @description A tool of an agent. */
        ToolSummary: {
            /** @description Its name. */
            name: string;
            /** @description allow: every call goes ahead; ask: a person is asked about some or all; deny: it is not offered. */
            verdict: string;
            /** @description Why. */
            why: string;
        };
        /** @description A turn of a branch. */
        TurnSummary: {
            /** @description Whether it only sums up those before it. */
            compaction: boolean;
            /**
             * Format: uint64
             * @description When it ended.
             */
            endedAt: number | null;
            /**
             * Format: uint64
             * @description The entry it ended with.
             */
            endedSeq: number | null;
            /** @description How it ended. */
            ending: components["schemas"]["Ending"] | null;
            /** @description The turn before. */
            parentId: string | null;
            /** @description What was asked. */
            prompt: string;
            /** @description Its run. */
            runId: string | null;
            /**
             * Format: uint64
             * @description When it began.
             */
            startedAt: number;
            /**
             * Format: uint64
             * @description The entry it began with.
             */
            startedSeq: number;
            /** @description Which one. */
            turnId: string;
            /** @description What it cost. */
            usage: components["schemas"]["UsageSummary"];
        };
        /** @description What something cost. */
        UsageSummary: {
            /**
             * Format: uint64
             * @description Tokens read that the provider still had.
             */
            cachedTokens: number;
            /**
             * Format: double
             * @description What is known of the price, in dollars; null if nothing is.
             */
            costUsd: number | null;
            /**
             * Format: uint64
             * @description Tokens read.
             */
            inputTokens: number;
            /**
             * Format: uint64
             * @description Tokens written.
             */
            outputTokens: number;
        };
        /** @description Ordered: the strictest wins, so combining is `max`. */
        Verdict: "allow" | "ask" | "deny";
        /** @description A call that was taken. */
        WebhookReceipt: {
            /** @description The event that it is. */
            eventId: components["schemas"]["EventId"];
            /** @description Whether it was taken before; then nothing new happens. */
            repeated: boolean;
            /**
             * Format: uint64
             * @description Its entry.
             */
            seq: number;
        };
        /** @description A message that nobody sent. */
        WhatIfBody: {
            /** @description The channel. */
            channel: string;
            /** @description The server or workspace. */
            guild?: string | null;
            /** @description The other side: a person, a group, a channel. */
            peer?: string | null;
            /** @description What the other side is. */
            peerKind?: components["schemas"]["PeerKind"] | null;
            /** @description The channel's id of who speaks. */
            sender?: string | null;
            /** @description What the speaker is called there. */
            senderName?: string | null;
            /** @description What is said. */
            text?: string | null;
            /**
             * Format: uint64
             * @description When, in milliseconds since 1970; now, if nothing is said.
             */
            time?: number | null;
        };
        /** @description What would be decided. */
        WhatIfResponse: {
            /** @description What each policy says, the first in rank first. */
            parts: components["schemas"]["PolicyEvaluation"][];
            /** @description The decision, in the form of the audit. */
            record: components["schemas"]["AccessRecord"];
            /** @description Where the message would go, in words. */
            route: string;
            /** @description The tools of this host, and whether the sender could have them called. */
            tools: components["schemas"]["WhatIfTool"][];
        };
        /** @description Whether a tool could be called. */
        WhatIfTool: {
            /** @description Whether it could. */
            allowed: boolean;
            /** @description The tool. */
            name: string;
            /** @description Why. */
            why: string;
        };
        /** @description How full the model's window is. */
        WindowUsage: {
            /**
             * Format: uint64
             * @description Tokens that the last request had.
             */
            usedTokens: number;
            /**
             * Format: uint64
             * @description Tokens that the model takes.
             */
            windowTokens: number;
        };
    };
    responses: {
        /** @description Why it is not done */
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
            /** @description What would be decided about a message; nothing is recorded */
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
            /** @description All agents, and what is wrong with the project */
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
            /** @description What an agent resolves to, and its prompt */
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
                /** @description At most so many. */
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
            /** @description The commits of an agent's folder */
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
            /** @description What a commit changed there */
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
            /** @description Take back what a commit changed there, with a commit */
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
                /** @description At most so many. */
                limit?: number;
                /** @description Those that wait, the oldest first; or all, the newest first. Those that wait, if nothing is said. */
                status?: components["schemas"]["ApprovalStatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Questions that wait for a person, or all */
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
            /** @description One question, with what would change */
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
            /** @description Answer a question */
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
            /** @description A file that the record keeps, as a download */
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
                /** @description On this channel. */
                channel?: string;
                /** @description Only what was allowed, or only what was denied. */
                effect?: components["schemas"]["Effect"];
                /** @description At most so many, the newest. */
                limit?: number;
                /** @description In which this policy had a part. */
                policy?: string;
                /** @description About somebody, by id or name. */
                principal?: string;
                /** @description From this time on, in milliseconds since 1970. */
                since?: number;
                /** @description Before this time. */
                until?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was decided about who may, newest first */
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
            /** @description The whole record of a decision */
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
                /** @description Those after this one. */
                after?: number;
                /** @description Those before this one; the last of them. */
                before?: number;
                /** @description With all that they have. */
                full?: boolean;
                /** @description At most so many. */
                limit?: number;
                /** @description Of this run. */
                run?: string;
                /** @description Of this session. */
                session?: string;
                /** @description Of this turn. */
                turn?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Entries of the ledger, in order */
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
            /** @description One entry, whole */
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
                /** @description Also those that are over or were taken back. */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Powers given for a time */
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
            /** @description Take a grant back */
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
            /** @description How the server is */
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
                /** @description At most so many, the newest. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What came in, newest first */
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
            /** @description Turn a code into a cookie */
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
            /** @description Who calls, and what the key opens */
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
                /** @description How long to wait until it has a session or is settled, in milliseconds. */
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
            /** @description What became of a message */
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
                /** @description The agent; models of the settings alone, if none is named. */
                agent?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Which models an agent may use */
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
            /** @description This document */
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
            /** @description The access policies, and who is known */
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
                /** @description At most so many. */
                limit?: number;
                /** @description Those that wait, the oldest first; or all, the newest first. Those that wait, if nothing is said. */
                status?: components["schemas"]["ApprovalStatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What others ask for, or ever asked for */
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
                /** @description Those after this run, which ended the page before. */
                before?: string;
                /** @description At most so many. */
                limit?: number;
                /** @description Those that stand so. */
                status?: components["schemas"]["RunStatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs, the newest first */
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
            /** @description Ask a run to end */
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
            /** @description The events of a run as they come; `Last-Event-ID` goes on after a break */
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
            /** @description Change the mode of a run under way */
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
            /** @description Play a run to today's program and files */
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
            /** @description Take up a run that no process works on */
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
                /** @description Those after this session, which ended the page before. */
                before?: string;
                /** @description At most so many. */
                limit?: number;
                /** @description Those whose name, agent or last prompt has this text. */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sessions, the last used first */
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
            /** @description Say something in a session of its own */
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
            /** @description Put the older turns of a session into one text, and wait for it */
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
            /** @description Say something in a session */
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
                /** @description So many hours; a day, if nothing is said. */
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was done, in spans of time */
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
                /** @description Those after this one; the header `Last-Event-ID` wins. Without either, those from now on. */
                after?: number;
                /** @description Also pieces of answers under way. */
                deltas?: boolean;
                /** @description Those of this run. */
                run?: string;
                /** @description Those of this session. */
                session?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Entries as they are recorded; `Last-Event-ID` goes on after a break */
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
            /** @description Have a task done, in a session of its own */
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
            /** @description The keys that there are */
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
            /** @description Make a key; it is shown once */
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
            /** @description Take a key back */
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
            /** @description One event through all stages */
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
            /** @description Begin a new session that goes on from a turn */
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
            /** @description Run a prompt; with `Accept: text/event-stream` its events follow */
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
            /** @description The events of the run that answers a message; `Last-Event-ID` goes on after a break */
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
            /** @description Answer a question of a run */
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
            /** @description Ask a run to end */
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
            /** @description Take a call of a program that the settings name under `webhooks` */
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
